"""Whether disk, memory and time grow while runs are stored and deleted over and over against one server."""
