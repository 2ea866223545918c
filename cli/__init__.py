"""The `tracegraph` command."""
