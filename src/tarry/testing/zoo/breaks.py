"""Receivers that close or reset the connection at any point of an exchange."""

from collections.abc import Awaitable, Callable

from tarry.core.outcome import Kind
from tarry.testing.zoo.behaviour import Ending, Family
from tarry.testing.zoo.line import Line

BREAKS = Family()
ANSWERED = 200
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 600\r\n\r\n"
CHUNKS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
CALM = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


async def _reset(line: Line) -> None:
    line.reset()


async def _close(line: Line) -> None:
    await line.hang_up()


Break = Callable[[Line], Awaitable[None]]
KINDS_OF_BREAK: tuple[tuple[str, str, Break], ...] = (
    ("reset", "resets the connection", _reset),
    ("close", "closes the connection in good order", _close),
)
HALVES: tuple[tuple[str, str, bytes, tuple[Ending, ...]], ...] = (
    ("before-answer", "after the request", b"", (Kind.TRANSIENT,)),
    ("mid-status", "within the status", b"HTTP/1.1 2", (Kind.TRANSIENT, Kind.PROTOCOL)),
    ("mid-head", "within the headers", HEAD[:25], (Kind.TRANSIENT, Kind.PROTOCOL)),
    ("mid-continue", "after a 100", b"HTTP/1.1 100 Continue\r\n\r\n", (Kind.TRANSIENT,)),
    ("before-body", "after the headers", HEAD, (ANSWERED,)),
    ("mid-body", "within the body", HEAD + b"x" * 300, (ANSWERED,)),
    ("mid-chunk", "within a chunk", CHUNKS + b"ff\r\nabc", (ANSWERED,)),
    ("mid-chunk-size", "within a chunk's size", CHUNKS + b"f", (ANSWERED,)),
    ("before-last-chunk", "before the last chunk", CHUNKS + b"3\r\nabc\r\n", (ANSWERED,)),
)


def _add_break(
    name: str, does: str, break_off: Break, half: bytes, endings: tuple[Ending, ...]
) -> None:
    """Add a behaviour: send `half` of an answer, then break the connection off."""

    @BREAKS.add(name, does, *endings, cut=ANSWERED in endings)
    async def play(line: Line) -> None:
        if half:
            await line.send(half)
        await break_off(line)


def _add_early_breaks(name: str, does: str, break_off: Break) -> None:
    """Add two behaviours: break the connection off at once, or within the request."""

    @BREAKS.add(f"{name}-at-once", f"{does} as soon as it is open", Kind.TRANSIENT, unheard=True)
    async def at_once(line: Line) -> None:
        await break_off(line)

    @BREAKS.add(f"{name}-mid-request", f"{does} within the request", Kind.TRANSIENT, unheard=True)
    async def mid_request(line: Line) -> None:
        await line.head()
        await break_off(line)


def _add_late_breaks(name: str, does: str, break_off: Break) -> None:
    """Add two behaviours: break off at the second request, or after the first answer."""

    @BREAKS.add(
        f"{name}-when-used-again", f"{does} as a second request comes on it", 200, Kind.TRANSIENT
    )
    async def when_used_again(line: Line) -> None:
        """Answer on a fresh connection, and break off at the second request."""
        if line.answered:
            await break_off(line)
        else:
            await line.send(CALM)

    @BREAKS.add(f"{name}-after-answer", f"{does} right after its answer", 200)
    async def after_answer(line: Line) -> None:
        """Send a complete response; the next request may cross the end of the connection."""
        await line.send(CALM)
        await break_off(line)


for _name, _does, _break_off in KINDS_OF_BREAK:
    _add_early_breaks(_name, _does, _break_off)
    for _where, _when, _half, _endings in HALVES:
        _add_break(f"{_name}-{_where}", f"{_does} {_when}", _break_off, _half, _endings)
    _add_late_breaks(_name, _does, _break_off)
