"""Receivers that are slow, or never finish."""

from tarry.core.outcome import Kind
from tarry.testing.zoo.behaviour import Behaviour, Family
from tarry.testing.zoo.line import Line

SLOW = Family()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 600\r\n\r\n"


async def _fail_if_accepted(line: Line) -> None:
    """Fail: a connection that is never accepted does not get this far."""
    raise AssertionError(line)


SLOW.put(
    Behaviour(
        name="hang-before-accept",
        does="accepts no connection, because its accept queue is full",
        endings=frozenset({Kind.TIMEOUT}),
        play=_fail_if_accepted,
        unheard=True,
        unaccepted=True,
    )
)


@SLOW.add("hang-after-accept", "accepts the connection, reads nothing", Kind.TIMEOUT, unheard=True)
async def hang_after_accept(line: Line) -> None:
    """Read nothing; a small request still fits into the sockets' buffers."""
    await line.ignore()


@SLOW.add("hang-mid-request", "reads a little and stops", Kind.TIMEOUT, unheard=True)
async def hang_mid_request(line: Line) -> None:
    """Stop before the whole request is read."""
    await line.some()
    await line.ignore()


@SLOW.add("hang-before-answer", "reads the request and is silent", Kind.TIMEOUT)
async def hang_before_answer(line: Line) -> None:
    """Read the request and never answer: the most common case."""
    await line.hang()


@SLOW.add("hang-mid-status", "stops in the middle of the status", Kind.TIMEOUT)
async def hang_mid_status(line: Line) -> None:
    """Stop within the status, which looks like 20, or 200."""
    await line.send(b"HTTP/1.1 20")
    await line.hang()


@SLOW.add("hang-mid-head", "stops in the middle of a header", Kind.TIMEOUT)
async def hang_mid_head(line: Line) -> None:
    """Stop within the headers: a status without all of its headers is not a response."""
    await line.send(HEAD[:30])
    await line.hang()


@SLOW.add("hang-before-blank-line", "leaves out the line that ends the headers", Kind.TIMEOUT)
async def hang_before_blank_line(line: Line) -> None:
    """Send all headers, but not the blank line that says so."""
    await line.send(HEAD[:-2])
    await line.hang()


@SLOW.add("hang-after-head", "sends the headers and no byte of the body", 200, cut=True)
async def hang_after_head(line: Line) -> None:
    """Stop after the head. This is a response: the body does not matter."""
    await line.send(HEAD)
    await line.hang()


@SLOW.add("hang-mid-body", "sends half of the body", 200, cut=True)
async def hang_mid_body(line: Line) -> None:
    """Stop within the body."""
    await line.send(HEAD + b"x" * 300)
    await line.hang()


@SLOW.add("hang-mid-chunk", "sends half of a chunk", 200, cut=True)
async def hang_mid_chunk(line: Line) -> None:
    """Stop within a chunk."""
    await line.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nabc")
    await line.hang()


@SLOW.add("hang-before-last-chunk", "sends chunks and never the last one", 200, cut=True)
async def hang_before_last_chunk(line: Line) -> None:
    """Stop before the last chunk."""
    await line.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
    await line.hang()


@SLOW.add("slow-head", "sends the head a byte a second", Kind.TIMEOUT)
async def slow_head(line: Line) -> None:
    """Send the head slowly, but each byte soon enough for a limit on single reads."""
    await line.trickle(HEAD)


@SLOW.add("slow-body", "sends the body a byte a second", 200, cut=True)
async def slow_body(line: Line) -> None:
    """Send the head at once, and the body slowly."""
    await line.send(HEAD)
    await line.trickle(b"x" * 600)


@SLOW.add("slow-chunks", "sends chunks of a byte, one a second", 200, cut=True)
async def slow_chunks(line: Line) -> None:
    """Send chunks slowly."""
    await line.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    await line.trickle(b"1\r\nx\r\n" * 600)


@SLOW.add("slow-continue", "says 100 Continue a byte a second, and again", Kind.TIMEOUT)
async def slow_continue(line: Line) -> None:
    """Send 100 Continue again and again: each is a sign of life, but not a final response."""
    await line.trickle(b"HTTP/1.1 100 Continue\r\n\r\n" * 60)
