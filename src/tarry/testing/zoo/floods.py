"""Receivers that answer with far more data than a sender should read."""

import zlib

from tarry.core.outcome import Kind
from tarry.testing.zoo.behaviour import Family
from tarry.testing.zoo.line import Line

FLOODS = Family()
OK = b"HTTP/1.1 200 OK\r\n"
KB = 1024
FLOOD = b"x" * 64 * KB
TEN_GB = 10 * KB**3
BOMB_MEGABYTES = 300
"""The unpacked size of a bomb; packed, it is about a thousandth of that."""


@FLOODS.add("endless-body", "sends a body without a length and without an end", 200, cut=True)
async def endless_body(line: Line) -> None:
    """Send a body that only the end of the connection would end."""
    await line.send(OK + b"\r\n")
    await line.flood(FLOOD)


@FLOODS.add("endless-chunks", "sends chunks without end", 200, cut=True)
async def endless_chunks(line: Line) -> None:
    """Send large chunks without end."""
    await line.send(OK + b"transfer-encoding: chunked\r\n\r\n")
    await line.flood(b"10000\r\n" + FLOOD + b"\r\n")


@FLOODS.add("endless-small-chunks", "sends chunks of one byte without end", 200, cut=True)
async def endless_small_chunks(line: Line) -> None:
    """Send small chunks without end; each costs work to read."""
    await line.send(OK + b"transfer-encoding: chunked\r\n\r\n")
    await line.flood(b"1\r\nx\r\n" * 4 * KB)


@FLOODS.add("huge-length", "announces 10 GB and sends them", 200, cut=True)
async def huge_length(line: Line) -> None:
    """Announce a huge length: a sender that allocates it beforehand runs out of memory."""
    await line.send(OK + b"content-length: %d\r\n\r\n" % TEN_GB)
    await line.flood(FLOOD, TEN_GB // len(FLOOD))


@FLOODS.add("huge-length-and-silence", "announces 10 GB and sends none of them", 200, cut=True)
async def huge_length_and_silence(line: Line) -> None:
    """Announce a huge length, and send nothing."""
    await line.send(OK + b"content-length: %d\r\n\r\n" % TEN_GB)
    await line.hang()


@FLOODS.add("huge-chunk", "announces a chunk of 10 GB and sends it", 200, cut=True)
async def huge_chunk(line: Line) -> None:
    """Announce a huge chunk."""
    await line.send(OK + b"transfer-encoding: chunked\r\n\r\n%x\r\n" % TEN_GB)
    await line.flood(FLOOD, TEN_GB // len(FLOOD))


def _bomb(encoding: str, begin: bytes) -> None:
    """Add a bomb. Its checksum is wrong, but a sender that notices has unpacked all of it."""
    packer = zlib.compressobj(level=9, wbits=-15)
    packed_megabyte = packer.compress(bytes(KB**2)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = begin + packed_megabyte * BOMB_MEGABYTES + packer.flush() + bytes(8)

    @FLOODS.add(
        f"{encoding}-bomb", f"sends {BOMB_MEGABYTES} MB packed with {encoding}", 200, cut=True
    )
    async def bomb(line: Line) -> None:
        head = b"content-encoding: %b\r\ncontent-length: %d\r\n\r\n"
        await line.send(OK + head % (encoding.encode(), len(packed)))
        await line.send(packed)


_bomb("gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03")
_bomb("deflate", b"\x78\xda")


def _add_head_flood(name: str, does: str, piece: bytes, times: int | None) -> None:
    """Add a behaviour: send `piece` this many times, or without end, within the head."""

    @FLOODS.add(name, does, Kind.PROTOCOL)
    async def too_much(line: Line) -> None:
        await line.send(OK)
        await line.flood(piece, times)
        await line.send(b"\r\ncontent-length: 0\r\n\r\n")


_add_head_flood(
    "many-headers", "sends 320 KB of headers", b"x-flood: " + b"a" * 22 + b"\r\n", 10_000
)
_add_head_flood("huge-header", "sends one header of 320 KB", b"x-flood:" + b"a" * 16 * KB, 20)
_add_head_flood("endless-headers", "sends headers without end", b"x-flood: a\r\n" * KB, None)
_add_head_flood("endless-header", "sends a header without end", b"a" * 16 * KB, None)


@FLOODS.add("long-reason", "gives a reason of 8 KB", 200, Kind.PROTOCOL)
async def long_reason(line: Line) -> None:
    """Send a long reason, within the limits of a head, so a sender may accept it."""
    await line.send(b"HTTP/1.1 200 " + b"y" * 8 * KB + b"\r\ncontent-length: 0\r\n\r\n")


@FLOODS.add("endless-reason", "gives a reason without end", Kind.PROTOCOL)
async def endless_reason(line: Line) -> None:
    """Send a status line without end."""
    await line.send(b"HTTP/1.1 200 ")
    await line.flood(b"y" * 16 * KB)


@FLOODS.add("endless-continue", "says 100 Continue without end", Kind.PROTOCOL, Kind.TIMEOUT)
async def endless_continue(line: Line) -> None:
    """Send short and valid 100 Continue responses without end, and never a final one."""
    await line.flood(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


@FLOODS.add("endless-hints", "sends early hints without end", Kind.PROTOCOL, Kind.TIMEOUT)
async def endless_hints(line: Line) -> None:
    """Send early hints, with headers, without end."""
    await line.flood(b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n" * 100)


@FLOODS.add("endless-blank-lines", "sends blank lines without end", Kind.PROTOCOL, Kind.TIMEOUT)
async def endless_blank_lines(line: Line) -> None:
    """Send blank lines without end: some readers skip them before the status."""
    await line.flood(b"\r\n" * 8 * KB)


@FLOODS.add("endless-extension", "gives a chunk an extension without end", 200, cut=True)
async def endless_extension(line: Line) -> None:
    """Send a chunk extension without end; no byte of it counts as body."""
    await line.send(OK + b"transfer-encoding: chunked\r\n\r\n5;why=")
    await line.flood(b"y" * 16 * KB)


@FLOODS.add("endless-chunk-size", "writes a chunk's size with zeros without end", 200, cut=True)
async def endless_chunk_size(line: Line) -> None:
    """Send a chunk size without end."""
    await line.send(OK + b"transfer-encoding: chunked\r\n\r\n")
    await line.flood(b"0" * 16 * KB)


@FLOODS.add("endless-trailers", "sends trailers without end", 200, cut=True)
async def endless_trailers(line: Line) -> None:
    """Send trailers without end: the body is complete, but the response is not."""
    await line.send(OK + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n")
    await line.flood(b"x-flood: a\r\n" * KB)


@FLOODS.add("large-body", "sends 64 KB and a byte: one more than is read", 200, cut=True)
async def large_body(line: Line) -> None:
    """Send one byte more than is read, to catch an off-by-one error."""
    await line.send(OK + b"content-length: 65537\r\n\r\n" + FLOOD + b"x")


@FLOODS.add("largest-body", "sends 64 KB: as much as is read", 200)
async def largest_body(line: Line) -> None:
    """Send exactly as much as is read."""
    await line.send(OK + b"content-length: 65536\r\n\r\n" + FLOOD)
