"""The database and what is kept beside it: graph schema, workspace, server, connection and loading."""
