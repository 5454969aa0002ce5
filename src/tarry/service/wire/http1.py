"""Write the head of a request and read the answer, as HTTP/1.1 and without a socket.

The constant part of a head is written once for each target; only the rest is written for each
attempt. Answers are read one after the other, within limits. The parser is httptools with its
strict defaults: two lengths, a length beside chunks, chunks without a size, or bare line feeds are
faults. Anything other than plain HTTP/1 is a fault as well.
"""

from importlib.metadata import version
from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from tarry.core.outcome import Kind
from tarry.service.wire.egress import DEFAULT_PORTS
from tarry.service.wire.exchange import (
    HEARD,
    MOST_HEAD,
    MOST_KEPT,
    MOST_READ,
    Answer,
    Headers,
    Request,
    Target,
)

MOST_INTERIM = 20
"""How many interim answers (1xx) may come before the final one."""
MOST_HEARD, MOST_VALUE = 16, 1024
"""How many headers of an answer are kept, and how many characters of each."""
MOST_FRAMED = 4 * MOST_READ
"""Bytes of a body with its framing: otherwise chunks of one byte each could go on without end."""

_OWN = (("content-type", "application/json"), ("user-agent", f"tarry/{version('tarry')}"))
_KEPT_BACK = frozenset({"connection", "content-length", "host", "transfer-encoding"})
_OPENING: Final = b"HTTP/1."
_LENGTH: Final = len(_OPENING)
_OK: Final = 200
_FRAMES: Final = ""
_HEADER_NAMES: Final = {name.encode(): name for name in HEARD} | {
    b"content-length": _FRAMES,
    b"transfer-encoding": _FRAMES,
}


class HeadError(ValueError):
    """A header cannot be sent. Such headers are refused when they are set; this checks again."""


def authority(target: Target) -> str:
    """Return the value of the Host header: the host, with the port unless it is the default."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if DEFAULT_PORTS.get(target.scheme) == target.port else f"{host}:{target.port}"


def constant_head(target: Target) -> bytes:
    """Return the constant part of a head: the request line and the headers of each request."""
    line = f"POST {target.path} HTTP/1.1"
    if not line.isascii() or not line.isprintable() or line.count(" ") != 2:  # noqa: PLR2004  of a line
        raise HeadError("the path of the endpoint's URL cannot be sent")
    named = {name.lower() for name, _ in target.headers}
    if kept_back := named & _KEPT_BACK:
        raise HeadError(f"the header {min(kept_back)!r} is the sender's own")
    added_headers = tuple((name, value) for name, value in _OWN if name not in named)
    host = (("host", authority(target)),)
    return line.encode("ascii") + b"\r\n" + header_lines(host + added_headers + target.headers)


def request_head(constant: bytes, request: Request) -> bytes:
    """Return the complete head of a request: the constant part, its headers, an empty line."""
    return b"%b%bcontent-length: %d\r\n\r\n" % (
        constant,
        header_lines(request.headers),
        len(request.body),
    )


def header_lines(headers: Headers) -> bytes:
    """Return these headers as lines. No header can inject another line."""
    text = "".join([f"{name}: {value}\r\n" for name, value in headers])
    header_count = len(headers)
    if text.count("\n") != header_count or text.count("\r") != header_count or "\0" in text:
        raise HeadError("a header holds a line break or a NUL")
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise HeadError("a header holds a character that is not of Latin-1") from None


class Reader:
    """Reads the answer that arrives on a connection.

    Call `feed` with bytes until it returns True: then the answer is complete or cut off. Only if
    `reusable` is set may the connection carry another request (after `begin`).
    """

    __slots__ = (
        "_bytes_read",
        "_framed",
        "_headers",
        "_interim",
        "_opening",
        "_parser",
        "_pieces",
        "_size",
        "_whole",
        "fault",
        "reusable",
        "status",
    )

    def __init__(self) -> None:
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        self.begin()

    def begin(self) -> None:
        """Expect a new answer."""
        self.status = 0
        """Zero until the status line and all headers have come."""
        self.fault = ""
        """Why the answer is not valid; empty if it is."""
        self.reusable = False
        self._headers: list[tuple[str, str]] = []
        self._pieces: list[bytes] = []
        self._opening = b""
        self._bytes_read = 0
        self._size = 0
        self._interim = 0
        self._framed = False
        self._whole = False

    @property
    def begun(self) -> bool:
        """Whether at least one byte has come."""
        return self._bytes_read > 0 or self._opening != b""

    def feed(self, data: bytes) -> bool:
        """Read bytes; return True once the answer is over, complete or not."""
        if not self._bytes_read and data[:_LENGTH] != _OPENING:
            return self._feed_opening(data)
        self._bytes_read += len(data)
        if self._bytes_read > MOST_HEAD and not self.status:
            return self._feed_carefully(data)
        self._parse(data)
        return (
            self._whole
            or self.fault != ""
            or self._size > MOST_READ
            or self._bytes_read > MOST_HEAD + MOST_FRAMED
        )

    def end(self) -> None:
        """Complete an answer without a length: the endpoint closed the connection properly."""
        if self.status and not self._framed and not self.fault:
            self._whole = True

    def close(self) -> None:
        """Drop the parser, which refers to this reader in turn."""
        self._parser = None

    def answer(self, took: float) -> Answer:
        """Return the answer as far as it has come."""
        if not self.status:
            return Answer(took, failure=Kind.PROTOCOL, detail=self.fault)
        return Answer(
            took,
            self.status,
            tuple(self._headers),
            b"".join(self._pieces),
            not self._whole or self._size > MOST_KEPT,
        )

    def _feed_opening(self, data: bytes) -> bool:
        """Feed bytes once they begin like an answer; True if the answer has ended or is none."""
        data = self._opening + data
        beginning = data[:_LENGTH]
        if beginning == _OPENING:
            return self.feed(data)
        self._opening = beginning
        if _OPENING.startswith(beginning):
            return False
        self.fault = "the response is not HTTP/1"
        return True

    def _feed_carefully(self, data: bytes) -> bool:
        """Read as many bytes as a head may still have; the rest only if the head ends in them."""
        room_left = MOST_HEAD - (self._bytes_read - len(data))
        self._parse(data[:room_left])
        if self.status:
            self._bytes_read -= len(data) - room_left
            return self.feed(data[room_left:])
        self.fault = self.fault or f"the head of the response is longer than {MOST_HEAD} bytes"
        return True

    def _parse(self, data: bytes) -> None:
        """Feed the parser; if the bytes are not valid HTTP, save the fault."""
        parser = self._parser
        if parser is None:
            return
        try:
            parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self.reusable = False
            self.fault = self.fault or f"the response is not valid HTTP: {error}"

    # What the parser calls. Once the answer is complete, later bytes must not change it.

    def on_message_begin(self) -> None:
        """Refuse to reuse the connection if a second answer begins that was not requested."""
        if self._whole:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header that matters to a sender of webhooks, and is not a trailer."""
        if self.status:
            return
        known_name = _HEADER_NAMES.get(name.lower())
        if known_name is None:
            return
        if known_name == _FRAMES:
            self._framed = True
        elif len(self._headers) < MOST_HEARD:
            self._headers.append((known_name, value[:MOST_VALUE].decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Set the status: the endpoint has answered, unless this is an interim answer."""
        if self.status or self._parser is None:
            return
        status = self._parser.get_status_code()
        if status >= _OK:
            self.status = status
            return
        self._headers.clear()
        self._framed = False
        self._interim += 1
        if status not in (100, 102, 103):
            self.fault = f"the response has the status {status}, which was not requested"
        elif self._interim > MOST_INTERIM:
            self.fault = f"more than {MOST_INTERIM} interim (1xx) responses came before a final one"

    def on_body(self, body: bytes) -> None:
        """Keep the beginning of the body, and count the rest."""
        if self._whole:
            return
        room = MOST_KEPT - self._size
        self._size += len(body)
        if room > 0:
            self._pieces.append(body[:room])

    def on_message_complete(self) -> None:
        """Complete the answer, unless it is an interim one."""
        if self.status and not self._whole and self._parser is not None:
            self._whole = True
            self.reusable = self._parser.should_keep_alive() and not self.fault
