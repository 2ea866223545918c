"""What a command line names: files, folders, patterns and URLs become sources, and each can be read."""
