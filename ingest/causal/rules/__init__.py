"""One pure function for each kind of dependency: tables in, edge table out."""
