"""Reports of Nsight Systems, exported as SQLite databases."""
