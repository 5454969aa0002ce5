"""Read the answers of a connection, one after the other and within limits. No socket in here.

The parser is httptools, strict as it comes: two lengths, a length beside chunks, chunks of no size
or bare line feeds are faults. What is not plain HTTP/1 is a fault as well.
"""

from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from tarry.core.outcome import Kind
from tarry.service.wire.exchange import HEARD, MOST_HEAD, MOST_KEPT, MOST_READ, Answer

MOST_INTERIM = 20
"""Answers that only say "wait" (1xx) before the one that counts."""
MOST_HEARD, MOST_VALUE = 16, 1024
"""Headers that are kept of an answer, and characters of each."""
MOST_FRAMED = 4 * MOST_READ
"""Bytes of a body with its framing: chunks of one byte each would else be a way to send on."""

_OPENING: Final = b"HTTP/1."
_LENGTH: Final = len(_OPENING)
_OK: Final = 200
_FRAMES: Final = ""
_KNOWN: Final = {name.encode(): name for name in HEARD} | {
    b"content-length": _FRAMES,
    b"transfer-encoding": _FRAMES,
}


class Reader:
    """The answer that is coming in on a connection.

    `feed` takes bytes until it says True: then nothing more is wanted of this answer, and only if
    `reusable` holds may the connection carry another request (after `begin`).
    """

    __slots__ = (
        "_came",
        "_framed",
        "_headers",
        "_interim",
        "_kept",
        "_opening",
        "_parser",
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
        """What was wrong with what came."""
        self.reusable = False
        self._headers: list[tuple[str, str]] = []
        self._kept: list[bytes] = []
        self._opening = b""
        self._came = 0
        self._size = 0
        self._interim = 0
        self._framed = False
        self._whole = False

    @property
    def begun(self) -> bool:
        """Whether a single byte has come."""
        return self._came > 0 or self._opening != b""

    def feed(self, data: bytes) -> bool:
        """Take in what came; True once the answer is over, well or not."""
        if not self._came and data[:_LENGTH] != _OPENING:
            return self._open(data)
        self._came += len(data)
        if self._came > MOST_HEAD and not self.status:
            return self._feed_carefully(data)
        self._parse(data)
        return (
            self._whole
            or self.fault != ""
            or self._size > MOST_READ
            or self._came > MOST_HEAD + MOST_FRAMED
        )

    def end(self) -> None:
        """The other side closed in good order: an answer without a length is then whole."""
        if self.status and not self._framed and not self.fault:
            self._whole = True

    def close(self) -> None:
        """Let go of the parser, which holds on to this reader in turn."""
        self._parser = None

    def answer(self, took: float) -> Answer:
        """What has come so far, as the answer."""
        if not self.status:
            return Answer(took, failure=Kind.PROTOCOL, detail=self.fault)
        return Answer(
            took,
            self.status,
            tuple(self._headers),
            b"".join(self._kept),
            not self._whole or self._size > MOST_KEPT,
        )

    def _open(self, data: bytes) -> bool:
        """See that it begins like an answer, even when it comes byte by byte."""
        data = self._opening + data
        opening = data[:_LENGTH]
        if opening == _OPENING:
            return self.feed(data)
        self._opening = opening
        if _OPENING.startswith(opening):
            return False
        self.fault = "what came is not an answer of HTTP/1"
        return True

    def _feed_carefully(self, data: bytes) -> bool:
        """Take in what a head may still have; the rest only if the head ends within it."""
        within = MOST_HEAD - (self._came - len(data))
        self._parse(data[:within])
        if self.status:
            self._came -= len(data) - within
            return self.feed(data[within:])
        self.fault = self.fault or f"the head of the answer is longer than {MOST_HEAD} bytes"
        return True

    def _parse(self, data: bytes) -> None:
        parser = self._parser
        if parser is None:
            return
        try:
            parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self.reusable = False
            self.fault = self.fault or f"the answer is not valid HTTP: {error}"

    # What the parser calls. Once the answer is whole, what follows it must not touch it.

    def on_message_begin(self) -> None:
        """Another answer begins; if this one was whole already, nobody asked for it."""
        if self._whole:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep it if it says something to a sender of webhooks, and is no trailer."""
        if self.status:
            return
        known = _KNOWN.get(name.lower())
        if known is None:
            return
        if known == _FRAMES:
            self._framed = True
        elif len(self._headers) < MOST_HEARD:
            self._headers.append((known, value[:MOST_VALUE].decode("latin-1")))

    def on_headers_complete(self) -> None:
        """The head is there: from now on the endpoint has answered, unless it only says wait."""
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
            self.fault = f"the answer has the status {status}, which was not asked for"
        elif self._interim > MOST_INTERIM:
            self.fault = f"more than {MOST_INTERIM} answers only said to wait"

    def on_body(self, body: bytes) -> None:
        """Keep the beginning, count the rest."""
        if self._whole:
            return
        room = MOST_KEPT - self._size
        self._size += len(body)
        if room > 0:
            self._kept.append(body[:room])

    def on_message_complete(self) -> None:
        """The answer is whole, if it was not one that only says wait."""
        if self.status and not self._whole and self._parser is not None:
            self._whole = True
            self.reusable = self._parser.should_keep_alive() and not self.fault
