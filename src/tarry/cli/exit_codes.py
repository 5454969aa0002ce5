"""The exit codes of commands. docs/reference/cli.md says what each means for which command."""

FAILED = 1
WRONG = 2
"""The command line, a setting, or a file that it names is wrong."""
UNUSABLE = 3
"""The database or the server cannot be used."""
TOO_LATE = 4
"""The time for `--wait` is over, and the work still goes on."""
INTERRUPTED = 130
"""Ended by Ctrl-C: the code that shells use for it."""
