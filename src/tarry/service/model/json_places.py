"""Find the places of values in a JSON text by the names of the fields that lead to them.

The text is read from left to right instead of being decoded. So each place is a pair of positions,
a name that occurs twice is found twice, and a long number takes no longer than any other text.
"""

import json
import re
from collections.abc import Iterator
from typing import Protocol

MOST_DEPTH = 1000
"""A text whose values are nested deeper counts as no JSON. The API accepts about 900 levels."""
_SPACE = rb"[ \t\n\r]*+"
_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_EMPTY = rb"\{" + _SPACE + rb"\}|\[" + _SPACE + rb"\]"
_VALUE = re.compile(
    _SPACE + rb'(?:("[^"]*+"|' + _NUMBER + rb"|true|false|null|" + _EMPTY + rb")|([{\[]))"
)
"""A value with no values inside, or the bracket that opens one."""
_NAME = re.compile(_SPACE + rb'"([^"]*+)"' + _SPACE + rb":")
_AFTER = re.compile(_SPACE + rb"([,}\]]|\Z)")
_CLOSING = {b"{": b"}", b"[": b"]"}


class NotJsonError(ValueError):
    """A text is not JSON, or not all of it is there."""


class Search(Protocol):
    """Paths to search for. A number says how far they lead to a value."""

    @property
    def start(self) -> int:
        """How far they lead to the whole text."""
        ...

    def inside(self, reached: int, name: bytes | None) -> int:
        """Return how far they lead to a field of this name; without a name, to an element."""
        ...

    def end(self, reached: int) -> bool:
        """Return whether a path ends there."""
        ...


def places(text: bytes, search: Search) -> Iterator[tuple[int, int]]:
    """Yield where each value begins and ends that a path leads to; not those inside another one.

    NotJsonError, maybe after some places, if the text is not JSON.
    """
    reader, reached = _Reader(text), search.start
    found: tuple[int, int] | None = None  # where it begins, and how many brackets are open there
    while True:
        begin, bracket = reader.value()
        if found is None and search.end(reached):
            found = begin, len(reader.opened)
        if bracket is not None:
            reader.open(bracket, reached)
        else:
            for depth in reader.closed():
                if found is not None and found[1] == depth:
                    yield found[0], reader.position
                    found = None
            if reader.finished:
                return
        bracket, outside = reader.opened[-1]
        reached = search.inside(outside, reader.name() if bracket == b"{" else None)


class _Reader:
    """Reads a JSON text piece by piece."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        # Of the same length, but without escapes: each quote begins or ends a string.
        self._plain = text.replace(rb"\\", b"--").replace(rb"\"", b"--")
        self.position, self.finished = 0, False
        self.opened: list[tuple[bytes, int]] = []
        """The brackets that are open, each with how far the paths lead to its value."""

    def value(self) -> tuple[int, bytes | None]:
        """Read a value, or only its opening bracket if values are inside; return where it began."""
        match = self._read(_VALUE)
        return match.start(match.lastindex or 0), match[2]

    def open(self, bracket: bytes, reached: int) -> None:
        """Note that the next value is inside these brackets."""
        if len(self.opened) == MOST_DEPTH:
            raise NotJsonError
        self.opened.append((bracket, reached))

    def name(self) -> bytes:
        """Read the name of a field and its colon; return the name without escapes."""
        match = self._read(_NAME)
        name = self._text[match.start(1) : match.end(1)]
        if b"\\" not in name:
            return name
        try:
            decoded: str = json.loads(b'"%s"' % name, strict=False)
        except ValueError as error:
            raise NotJsonError from error
        return decoded.encode(errors="surrogatepass")

    def closed(self) -> Iterator[int]:
        """Read what follows a value; yield how many brackets are open after each value that ended.

        At each of them the position is the end of that value.
        """
        while True:
            yield len(self.opened)
            after = self._read(_AFTER)[1]
            if not (after or self.opened):
                self.finished = True
                return
            if not self.opened:
                raise NotJsonError
            if after == b",":
                return
            if _CLOSING[self.opened.pop()[0]] != after:
                raise NotJsonError

    def _read(self, pattern: re.Pattern[bytes]) -> re.Match[bytes]:
        """Read what a pattern matches, from the position on."""
        match = pattern.match(self._plain, self.position)
        if match is None:
            raise NotJsonError
        self.position = match.end()
        return match
