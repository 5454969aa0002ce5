"""HTTP/1.1 for receivers that run without a web framework.

`tarry listen`, the sink of `tarry bench` and the receivers for tests read their requests with this
module, and decide only how they answer. `RequestReader` does no I/O: its owner feeds it the data of
one connection. `Connection` and `read_request` join it to the protocols and the streams of asyncio.
It needs only the standard library.
"""

import asyncio
import re
from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple, cast

MOST_HEAD = 64 * 1024
MOST_BODY = 16 * 1024 * 1024
MOST_DIGITS = len(str(MOST_BODY))
PIECE = 256 * 1024
CLOSE = (("connection", "close"),)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
END_OF_LINE = b"\r\n"
END_OF_HEAD = b"\r\n\r\n"
HEAD = re.compile(rb"[^ \r\n]+ [^ \r\n]+ HTTP/1\.[01](?:\r\n[^\s:]+:[^\r\n]*)*")
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([^\r]*)", re.IGNORECASE)
FRAMING = re.compile(
    rb"\r\n(?:content-length:[ \t]*([^\r]*)|transfer-encoding:[ \t]*([^\r]*))", re.IGNORECASE
)
"""The headers that say where a request ends."""
HEX_DIGITS = b"0123456789abcdefABCDEF"


class RequestError(Exception):
    """A request that cannot be read. Its sender gets this status, and the connection is closed."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class Request(NamedTuple):
    """A request: its head without the blank line that ends it, and its body.

    The head is parsed only where somebody looks, because a benchmark looks at one header. `check`
    it before you look at its parts, unless you know the sender.
    """

    head: bytes
    body: bytes

    @property
    def method(self) -> str:
        """The method, such as POST."""
        return self.head.split(b" ", 1)[0].decode("latin-1")

    @property
    def path(self) -> str:
        """The path and the query."""
        return self.head.split(b" ", 2)[1].decode("latin-1")

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers in their order, with their names as they were written."""
        pairs = (line.partition(":") for line in self.head.decode("latin-1").split("\r\n")[1:])
        return tuple((name, value.strip(" \t")) for name, _, value in pairs)

    def header(self, name: str) -> str:
        """Return the value of a header, empty if it is missing."""
        match = _header_pattern(name).search(self.head)
        return match[1].decode("latin-1").rstrip(" \t") if match else ""

    @property
    def keeps_connection(self) -> bool:
        """Whether the sender may send another request on the same connection."""
        first_line = self.head.partition(END_OF_LINE)[0]
        return first_line.endswith(b"1.1") and self.header("connection").lower() != "close"

    def check(self) -> None:
        """Raise `RequestError` if a line of the head is not as it should be."""
        if not HEAD.fullmatch(self.head):
            raise RequestError(HTTPStatus.BAD_REQUEST)


@lru_cache
def _header_pattern(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"\r\n" + re.escape(name.encode()) + rb":[ \t]*([^\r]*)", re.IGNORECASE)


class RequestReader:
    """Finds the requests in the data of one connection. A body has a length or is chunked.

    With `needs_length`, a request without a Content-Length is refused. After a `RequestError` the
    reader cannot continue, because it cannot tell where the next request starts.
    """

    def __init__(self, *, needs_length: bool = False) -> None:
        self._needs_length = needs_length
        self._data = b""
        self._start = 0
        """Where the part of `_data` starts that is not read yet."""
        self._later: list[bytes] = []
        self._missing = 0
        """How many bytes have to come before it is worth reading on."""
        self._chunked_head = b""
        self._chunks = bytearray()
        self.awaits_continue = False
        """Whether the sender holds its body back until it gets a 100 Continue."""

    @property
    def unfinished(self) -> bool:
        """Whether a part of a request has come."""
        return bool(self._start < len(self._data) or self._later or self._chunked_head)

    def feed(self, data: bytes) -> None:
        """Add data that came."""
        self.awaits_continue = False
        if self._missing > len(data):  # a long body is put together once, when all of it is there
            self._later.append(data)
            self._missing -= len(data)
            return
        if self.unfinished:
            data = b"".join((self._data[self._start :], *self._later, data))
            self._later.clear()
        self._data, self._start, self._missing = data, 0, 0

    def next(self) -> Request | None:
        """Return the next request, or None until more data has come."""
        if self._missing:
            return None
        if self._chunked_head:
            return self._next_chunked()
        data, start = self._data, self._start
        end = data.find(END_OF_HEAD, start)
        if (len(data) if end < 0 else end) - start > MOST_HEAD:
            raise RequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if end < 0:
            return None
        body_start = end + len(END_OF_HEAD)
        length = self._length(data, start, end)
        if length is None:
            self._chunked_head, self._start = data[start:end], body_start
            request = self._next_chunked()
            self.awaits_continue = request is None and _expects_continue(data[start:end])
            return request
        body_end = body_start + length
        if body_end > len(data):
            self._missing = body_end - len(data)
            self.awaits_continue = _expects_continue(data[start:end])
            return None
        self._start = body_end
        return Request(data[start:end], data[body_start:body_end])

    def _length(self, data: bytes, start: int, end: int) -> int | None:
        """Return the length of the body that a head announces; None if the body is chunked."""
        if self._needs_length:
            match = LENGTH.search(data, start, end)
            if match is None:
                raise RequestError(HTTPStatus.LENGTH_REQUIRED)
            return _content_length(match[1])
        framing = FRAMING.findall(data, start, end)
        if not framing:
            return 0
        if len(framing) > 1:  # they may contradict each other
            raise RequestError(HTTPStatus.BAD_REQUEST)
        length, coding = framing[0]
        if not coding:
            return _content_length(length)
        if coding.rstrip(b" \t").lower() != b"chunked":
            raise RequestError(HTTPStatus.NOT_IMPLEMENTED)
        return None

    def _next_chunked(self) -> Request | None:
        """Read chunks, and return the request after its last chunk."""
        data = self._data
        while (size_end := self._find(END_OF_LINE, self._start)) >= 0:
            digits = data[self._start : size_end].partition(b";")[0].strip()
            size = _chunk_size(digits, already=len(self._chunks))
            if not size:
                return self._last_chunk(size_end)
            chunk_start = size_end + len(END_OF_LINE)
            chunk_end = chunk_start + size
            next_start = chunk_end + len(END_OF_LINE)
            if next_start > len(data):
                self._missing = next_start - len(data)
                break
            if data[chunk_end:next_start] != END_OF_LINE:
                raise RequestError(HTTPStatus.BAD_REQUEST)
            self._chunks += data[chunk_start:chunk_end]
            self._start = next_start
        return None

    def _last_chunk(self, size_end: int) -> Request | None:
        """Skip the trailers and return the request."""
        end = self._find(END_OF_HEAD, size_end)
        if end < 0:
            return None
        request = Request(self._chunked_head, bytes(self._chunks))
        self._start = end + len(END_OF_HEAD)
        self._chunked_head, self._chunks = b"", bytearray()
        return request

    def _find(self, mark: bytes, start: int) -> int:
        """Return where a mark within a chunked body is; below 0 until it has come."""
        end = self._data.find(mark, start)
        if (len(self._data) if end < 0 else end) - start > MOST_HEAD:
            raise RequestError(HTTPStatus.BAD_REQUEST)
        return end


def _expects_continue(head: bytes) -> bool:
    return Request(head, b"").header("expect").lower() == "100-continue"


def _content_length(digits: bytes) -> int:
    """Return the length that a Content-Length gives."""
    digits = digits.rstrip(b" \t")
    if not digits.isdigit():
        raise RequestError(HTTPStatus.BAD_REQUEST)
    if len(digits) > MOST_DIGITS or (size := int(digits)) > MOST_BODY:
        raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return size


def _chunk_size(digits: bytes, *, already: int) -> int:
    """Return the chunk's size; RequestError if the body, with `already` bytes, gets too large."""
    if not digits or digits.strip(HEX_DIGITS):
        raise RequestError(HTTPStatus.BAD_REQUEST)
    if len(digits) > MOST_DIGITS or already + (size := int(digits, 16)) > MOST_BODY:
        raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return size


def response(status: int, headers: Iterable[tuple[str, str]] = (), body: bytes = b"") -> bytes:
    """Return a whole response, with the length of its body."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    if status != HTTPStatus.NO_CONTENT:
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Connection(asyncio.Protocol):
    """One connection to a receiver. A subclass says in `received` how it answers a request."""

    def __init__(self, requests: RequestReader) -> None:
        self._requests = requests

    def received(self, request: Request) -> None:
        """Answer a request: now or later, with `self.transport.write`, or never."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)  # of a stream, which can be written

    def data_received(self, data: bytes) -> None:
        """Hand over each complete request. After one that cannot be read, close."""
        self._requests.feed(data)
        try:
            while (request := self._requests.next()) is not None:
                self.received(request)
        except RequestError as error:
            self.transport.write(response(error.status, CLOSE))
            self.transport.close()
        if self._requests.awaits_continue:
            self.transport.write(CONTINUE)


async def read_request(
    requests: RequestReader,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter | None = None,
) -> Request | None:
    """Read the next request from a stream; None if its sender has closed the connection.

    `writer` is for the 100 Continue that a sender may wait for; without one, it gets none. A sender
    that closes within a request raises `asyncio.IncompleteReadError`.
    """
    while (request := requests.next()) is None:
        if writer and requests.awaits_continue:
            writer.write(CONTINUE)
        data = await reader.read(PIECE)
        if not data and requests.unfinished:
            raise asyncio.IncompleteReadError(b"", None)
        if not data:
            return None
        requests.feed(data)
    return request
