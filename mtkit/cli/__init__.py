"""The command line: one thin file a command. What is heavy to import is imported when a command runs, never for --help."""
