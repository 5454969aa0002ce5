"""Tells lines of the log from the other lines that a command writes to stderr."""

import re
from typing import IO

_LOGGED = re.compile(r"\d{4}-\d\d-\d\d [\d:,]+ [A-Z]+ ")


def next_line(stream: IO[str]) -> str:
    """Read the next line that is not a line of the log."""
    while _LOGGED.match(line := stream.readline()):
        pass
    return line


def without_log(text: str) -> str:
    """Return a text without the lines of the log."""
    return "".join(line for line in text.splitlines(keepends=True) if not _LOGGED.match(line))
