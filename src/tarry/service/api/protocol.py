"""One connection of a sender: it is ended if requests come too slowly or with too long a head.

And if an answer is not taken: it would be kept in memory for as long.
"""

import asyncio
from http import HTTPStatus
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MOST_HEAD = 64 * 1024
"""Bytes of a request's head, give or take what comes at once."""
REQUEST_TIME = 30.0
"""Seconds from a request's first byte, or from the connection, to its last byte."""
ANSWER_TIME = 30.0
"""Seconds in which something of an answer has to be taken."""
JOINED = 16 * 1024
"""A body up to this size goes out in one piece with its head; a longer one is not copied."""


class Joined:
    """A transport that sends an answer's head together with its body: a write costs what both do.

    What nothing follows at once goes at the end of the loop's turn.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._soon = transport, loop.call_soon
        self._held = b""
        self.is_closing = transport.is_closing

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever else a transport has
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it, with what was held back; if that is nothing, hold it back."""
        if not self._held:
            self._held = data
            self._soon(self._flush)
        elif len(data) <= JOINED:
            self._transport.write(self._held + data)
            self._held = b""
        else:
            self._flush()
            self._transport.write(data)

    def close(self) -> None:
        """Close it in good order."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)


class Connection(HttpToolsProtocol):
    """Uvicorn's, with limits. A request that comes in one piece costs no timer."""

    request_time, answer_time = REQUEST_TIME, ANSWER_TIME

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  uvicorn's own
        super().__init__(*args, **kwargs)
        self._head, self._in_head, self._whole = 0, True, False
        self._completed = 0
        self._timer: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None
        self._earlier: list[RequestResponseCycle] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait."""
        stream = cast("asyncio.Transport", transport)  # a stream's goes both ways
        super().connection_made(cast("asyncio.Transport", Joined(stream, self.loop)))
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on, within limits."""
        before = self._completed
        super().data_received(data)
        if self._in_head and self._completed == before:  # else most of it was of others before
            self._head += len(data)
            if self._head > MOST_HEAD:
                self._end(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
                return
        if self._whole:
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._head, self._in_head, self._whole = 0, True, False

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # there is none at first
        if cycle is not None and not cycle.response_complete:  # more than one at a time
            waiting = (one for one in self._earlier if not one.response_complete)
            self._earlier = [*waiting, cycle]
        super().on_headers_complete()
        self._in_head = False

    def on_message_complete(self) -> None:
        """All of it is there."""
        super().on_message_complete()
        self._whole = True
        self._completed += 1

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over, for all requests that came over it: uvicorn tells the last one only."""
        self._stop_waiting()
        self._stop_watching()
        for one in self._earlier:
            one.disconnected = not one.response_complete
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """More is written than is taken: see that something is."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """It is taken."""
        super().resume_writing()
        self._stop_watching()

    def _watch(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._taking = self.loop.call_later(self.answer_time, self._look, left)

    def _look(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._watch()
        else:
            self.transport.abort()

    def _stop_watching(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing of it: who asks is answered over HTTP, and nobody is to fill the log."""

    def _wait(self) -> None:
        late = HTTPStatus.REQUEST_TIMEOUT
        self._timer = self.loop.call_later(self.request_time, self._end, late)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self, status: HTTPStatus) -> None:
        self._stop_waiting()
        if self.transport.is_closing():
            return
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        self.transport.write(f"{head}connection: close\r\ncontent-length: 0\r\n\r\n".encode())
        self.transport.close()
