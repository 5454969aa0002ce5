"""The body of a request: whether it can be sent once more, and what has to be done for it."""

from collections.abc import AsyncIterable, Callable
from functools import partial
from typing import Protocol

Rewind = Callable[[], object]

AS_IT_IS = (str, bytes, bytearray, memoryview, list, tuple, type(None))
"""What gives the same every time it is read."""


class Body(Protocol):
    """What an exchange asks of a body."""

    @property
    def replayable(self) -> bool:
        """Whether it can be sent again, once it has been read or begun to be."""

    def rewind(self) -> None:
        """Put it back to where it stood at first."""


class Rewound:
    """A body that is put back by calling `rewind`; one that is None can be read only once."""

    __slots__ = ("_rewind",)

    def __init__(self, rewind: Rewind | None) -> None:
        self._rewind = rewind

    @property
    def replayable(self) -> bool:
        """Whether it can be sent again."""
        return self._rewind is not None

    def rewind(self) -> None:
        """Put it back, if that can be done."""
        if self._rewind is not None:
            self._rewind()


def stay() -> None:
    """Put nothing back: the body is the same every time it is read."""


def rewind_of(body: object) -> Rewind | None:
    """How to put a body back to where it stands now; None if it can be read only once.

    A file is put back to its position. Whatever is not known, a generator for one, counts as
    something that can be read only once.

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
    """Whether it says that it can be put back; who says nothing may all the same."""
    seekable = getattr(body, "seekable", None)
    try:
        return bool(seekable()) if callable(seekable) else True
    except ValueError:  # a file that is closed
        return False
