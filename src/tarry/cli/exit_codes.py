"""What commands end with. docs/reference/cli.md tells what each code means where."""

FAILED = 1
WRONG = 2
"""The command line, a setting, or a file it names."""
UNUSABLE = 3
"""The database, or the server."""
TOO_LATE = 4
"""What was waited for goes on."""
INTERRUPTED = 130
"""By Ctrl-C, as shells say it."""
