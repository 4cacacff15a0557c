"""The command line: options, console, files."""
