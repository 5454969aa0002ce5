"""Receivers whose response is not valid HTTP, or not quite.

Where lenient and strict readers may differ, both endings are right. It is never right to hang, or
to read the rest of one response as the beginning of the next.
"""

from random import Random

from tarry.core.outcome import Kind
from tarry.testing.zoo.behaviour import Ending, Family
from tarry.testing.zoo.line import Line

MALFORMED = Family()
REFUSED: tuple[Ending, ...] = (Kind.PROTOCOL,)
EITHER: tuple[Ending, ...] = (200, Kind.PROTOCOL)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
NOISE = Random(7).randbytes(4096)  # noqa: S311  noise, not secrets

NOT_HTTP: dict[str, tuple[str, bytes]] = {
    "http-0.9": ("answers without a status or headers, as in 1991", b"<html>hello</html>\r\n"),
    "noise": ("sends 4 KB of noise", NOISE),
    "ssh": ("is an SSH server", b"SSH-2.0-OpenSSH_9.2p1\r\n"),
    "mail": ("is a mail server", b"220 mail.test ESMTP ready\r\n"),
    "http-2": ("speaks HTTP/2 without being asked", b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
    "tls-alert": ("speaks TLS", b"\x15\x03\x03\x00\x02\x02\x16"),
    "nuls": ("sends NULs", bytes(64)),
}


def _add_answer(name: str, does: str, *endings: Ending, answer: bytes) -> None:
    """Add a behaviour: send this answer and end the connection."""

    @MALFORMED.add(name, does, *endings)
    async def play(line: Line) -> None:
        await line.send(answer)
        await line.hang_up()


for _name, (_does, _said) in NOT_HTTP.items():
    _add_answer(_name, _does, *REFUSED, answer=_said)

STATUS_LINES: dict[str, tuple[bytes, tuple[Ending, ...]]] = {
    "status-0": (b"HTTP/1.1 000 Zero", REFUSED),
    "status-99": (b"HTTP/1.1 99 Low", REFUSED),
    "status-600": (b"HTTP/1.1 600 High", (600, Kind.PROTOCOL)),
    "status-999": (b"HTTP/1.1 999 Higher", (999, Kind.PROTOCOL)),
    "status-1000": (b"HTTP/1.1 1000 Too high", REFUSED),
    "status-huge": (b"HTTP/1.1 99999999999999999999 Far too high", REFUSED),
    "status-negative": (b"HTTP/1.1 -200 Low", REFUSED),
    "status-in-words": (b"HTTP/1.1 OK 200", REFUSED),
    "status-missing": (b"HTTP/1.1", REFUSED),
    "version-unknown": (b"HTTP/7.3 200 OK", REFUSED),
    "version-missing": (b"HTTP 200 OK", REFUSED),
    "version-words": (b"HTTP/one.one 200 OK", REFUSED),
    "name-in-lower-case": (b"http/1.1 200 OK", EITHER),
    "space-before-status": (b" HTTP/1.1 200 OK", EITHER),
    "status-after-tab": (b"HTTP/1.1\t200\tOK", EITHER),
    "nul-in-reason": (b"HTTP/1.1 200 O\x00K", EITHER),
    "reason-not-ascii": ("HTTP/1.1 200 Schön".encode(), EITHER),
}
for _name, (_line, _endings) in STATUS_LINES.items():
    MALFORMED.says(
        _name,
        f"begins its answer with {_line.decode()!r}",
        *_endings,
        answer=_line + b"\r\ncontent-length: 0\r\n\r\n",
    )

FIELDS: dict[str, tuple[bytes, tuple[Ending, ...]]] = {
    "nul-in-value": (b"x-odd: a\x00b", EITHER),
    "nul-in-name": (b"x-o\x00dd: a", EITHER),
    "return-in-value": (b"x-odd: a\rb", EITHER),
    "latin-value": (b"x-odd: caf\xe9", EITHER),
    "utf8-value": ("x-odd: ☂".encode(), EITHER),
    "latin-retry-after": (b"retry-after: \xb2", EITHER),
    "escape-in-value": (b"content-type: \x1b[2J", EITHER),
    "folded": (b"x-odd: a\r\n\tb", EITHER),
    "folded-first": (b" x-odd: a", EITHER),
    "no-colon": (b"x-odd", EITHER),
    "no-name": (b": a", EITHER),
    "space-before-colon": (b"x-odd : a", EITHER),
    "name-not-a-token": (b"x(odd): a", EITHER),
    "length-negative": (b"content-length: -1", EITHER),
    "length-signed": (b"content-length: +0", EITHER),
    "length-hex": (b"content-length: 0x0", EITHER),
    "length-words": (b"content-length: none", EITHER),
    "length-empty": (b"content-length:", EITHER),
    "length-past-64-bits": (b"content-length: 18446744073709551616", EITHER),
    "length-in-thousand-digits": (b"content-length: " + b"9" * 1000, EITHER),
    "coding-unknown": (b"transfer-encoding: banana", EITHER),
    "coding-chunked-not-last": (b"transfer-encoding: chunked, gzip", EITHER),
    "coding-smuggled": (b"transfer-encoding:\x0bchunked", EITHER),
}
for _name, (_field, _endings) in FIELDS.items():
    _add_answer(
        _name,
        f"has the header {_field.decode('latin-1')[:32]!r}",
        *_endings,
        answer=OK + _field + b"\r\nconnection: close\r\n\r\n",
    )

BODIES: dict[str, tuple[str, bytes]] = {
    "chunk-size-words": ("gives a chunk's size in words", CHUNKED + b"many\r\nabc\r\n0\r\n\r\n"),
    "chunk-size-negative": ("gives a chunk a size below 0", CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n"),
    "chunk-size-missing": ("leaves a chunk's size out", CHUNKED + b"\r\nabc\r\n0\r\n\r\n"),
    "chunk-size-overflow": (
        "gives a chunk 2 to the 64th and 3 bytes",
        CHUNKED + b"10000000000000003\r\nabc\r\n0\r\n\r\n",
    ),
    "chunk-too-long": ("sends more than the chunk's size", CHUNKED + b"3\r\nabcdef\r\n0\r\n\r\n"),
    "chunk-lines": ("ends its lines with LF only", CHUNKED + b"3\nabc\n0\n\n"),
    "two-lengths": (
        "has two lengths that differ",
        OK + b"content-length: 3\r\ncontent-length: 5\r\n\r\nabcde",
    ),
    "two-same-lengths": (
        "has the same length twice",
        OK + b"content-length: 3\r\ncontent-length: 3\r\n\r\nabc",
    ),
    "lengths-in-a-list": ("has a list of lengths", OK + b"content-length: 3, 3\r\n\r\nabc"),
    "chunked-and-length": (
        "has a length and chunks that differ",
        OK + b"transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    ),
    "chunked-twice": (
        "is chunked twice",
        OK
        + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ),
    "lines-with-lf": ("ends its lines with LF only", b"HTTP/1.1 200 OK\ncontent-length: 3\n\nabc"),
    "old-and-chunked": (
        "is HTTP/1.0 and chunked",
        b"HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ),
    "packed-badly": (
        "says that it is packed, and is not",
        OK + b"content-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc",
    ),
}
for _name, (_does, _answer) in BODIES.items():
    _add_answer(_name, _does, *EITHER, answer=_answer)
