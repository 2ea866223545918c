"""The lowest room: graph schema, workspace, server, connection and loading."""
