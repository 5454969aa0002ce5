"""The command line: what `tarry` does when it is typed into a shell."""
