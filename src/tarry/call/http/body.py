"""The body of a request: whether it can be sent again, and how to rewind it."""

from collections.abc import AsyncIterable, Callable
from functools import partial
from typing import Protocol

Rewind = Callable[[], object]

AS_IT_IS = (str, bytes, bytearray, memoryview, list, tuple, type(None))
"""Types whose values are the same every time they are read."""


class Body(Protocol):
    """A body, as an exchange uses it."""

    @property
    def replayable(self) -> bool:
        """Whether it can be sent again, once it has been read or begun to be."""

    def rewind(self) -> None:
        """Rewind it to its first position."""


class Rewound:
    """A body that the function `rewind` rewinds; with None it can be read only once."""

    __slots__ = ("_rewind",)

    def __init__(self, rewind: Rewind | None) -> None:
        self._rewind = rewind

    @property
    def replayable(self) -> bool:
        """Whether it can be sent again."""
        return self._rewind is not None

    def rewind(self) -> None:
        """Rewind it, if that is possible."""
        if self._rewind is not None:
            self._rewind()


def stay() -> None:
    """Do nothing: the body is the same every time it is read."""


def rewind_of(body: object) -> Rewind | None:
    """Return a function that rewinds a body to its position now; None if it can be read only once.

    A file is rewound to its position. Anything unknown, such as a generator, counts as readable
    only once.

    >>> from io import BytesIO
    >>> file = BytesIO(b"head body")
    >>> start = file.seek(5)
    >>> rewind = rewind_of(file)
    >>> file.read(), rewind(), file.read()
    (b'body', 5, b'body')
    """
    if isinstance(body, AS_IT_IS):
        return stay
    # An async file has `seek` too, but it would have to be awaited.
    if isinstance(body, AsyncIterable) or not _seekable(body):
        return None
    seek, tell = getattr(body, "seek", None), getattr(body, "tell", None)
    if not callable(seek) or not callable(tell):
        return None
    try:
        return partial(seek, tell())
    except (OSError, ValueError):  # a pipe, or a file that is closed
        return None


def _seekable(body: object) -> bool:
    """Return whether it can be rewound; a body without `seekable` may be."""
    seekable = getattr(body, "seekable", None)
    try:
        return bool(seekable()) if callable(seekable) else True
    except ValueError:  # a file that is closed
        return False
