"""Growth of disk, memory and time while runs are stored and deleted over and over against one server."""
