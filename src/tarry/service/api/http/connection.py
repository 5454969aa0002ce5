"""One connection of a client, with limits against slow and oversized requests.

It is closed if a request arrives too slowly, if its head is too long, or if the client does not
read its response, which would otherwise stay in memory. If there are too many connections, the one
is closed that has waited longest for a request.
"""

import asyncio
import resource
from http import HTTPStatus
from typing import Any, ClassVar, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MOST_HEAD = 64 * 1024
"""The most bytes of a request's head. The limit is inexact: it counts whole chunks of data."""
REQUEST_TIME = 30.0
"""The most seconds from a request's first byte to its last; for the first one, since connecting."""
ANSWER_TIME = 30.0
"""Seconds in which the client has to read at least a part of a response."""
MOST_CONNECTIONS = 10_000
"""The most connections to a server, as far as `most_connections` allows them."""
LONGEST_JOINED = 16 * 1024
"""A body up to this many bytes is sent in one write with its head; longer ones are not copied."""


def most_connections() -> int:
    """Return how many connections a server may have.

    They use at most half of the process's file descriptors, because deliveries and the database
    need some too.
    """
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, descriptors // 2)


class Joined:
    """A transport that writes the head and the body of a response together.

    One write costs about as much for both as for one of them. Data that no other write follows is
    sent at the end of the event loop's turn.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._soon = transport, loop.call_soon
        self._held = b""
        self.is_closing = transport.is_closing

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send the data together with the data held back before; hold it back if there is none."""
        if not self._held:
            self._held = data
            self._soon(self._flush)
        elif len(data) <= LONGEST_JOINED:
            self._transport.write(self._held + data)
            self._held = b""
        else:
            self._flush()
            self._transport.write(data)

    def close(self) -> None:
        """Send the data held back, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        """Send the data held back."""
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)


class Connection(HttpToolsProtocol):
    """Uvicorn's connection with limits. A request that arrives in one piece needs no timer."""

    request_time, answer_time = REQUEST_TIME, ANSWER_TIME
    waiting: ClassVar["dict[Connection, None]"] = {}
    """The connections without a complete request, those first that have waited longest."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  uvicorn's own
        super().__init__(*args, **kwargs)
        self._head, self._in_head, self._is_complete = 0, True, False
        self._completed = 0
        self._request_timer: asyncio.TimerHandle | None = None
        self._progress_timer: asyncio.TimerHandle | None = None
        self._earlier: list[RequestResponseCycle] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timer for the first request."""
        stream = cast("asyncio.Transport", transport)  # TCP goes both ways
        super().connection_made(cast("asyncio.Transport", Joined(stream, self.loop)))
        self._start_timer()
        self.waiting[self] = None
        if len(self.connections) > most_connections():
            next(iter(self.waiting)).drop()

    def drop(self) -> None:
        """Close the connection at once."""
        self.waiting.pop(self, None)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Parse the data, and enforce the limits on head and time."""
        completed_before = self._completed
        super().data_received(data)
        if (
            self._in_head and self._completed == completed_before
        ):  # else it is mostly earlier requests
            self._head += len(data)
            if self._head > MOST_HEAD:
                self._refuse_and_close(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
                return
        if self._is_complete:
            self._stop_timer()
            if self.cycle.response_complete:  # before its request was: no response follows
                self._keep_alive()
        elif self._request_timer is None:
            self._start_timer()

    def on_message_begin(self) -> None:
        """Reset the state for a new request."""
        super().on_message_begin()
        self._head, self._in_head, self._is_complete = 0, True, False

    def on_headers_complete(self) -> None:
        """Note that the head is complete, and track earlier requests that are not answered yet."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # None before the first request
        if cycle is not None and not cycle.response_complete:  # pipelined requests
            waiting = (earlier for earlier in self._earlier if not earlier.response_complete)
            self._earlier = [*waiting, cycle]
        super().on_headers_complete()
        self._in_head = False

    def on_message_complete(self) -> None:
        """Note that the request is complete. If it is answered already, the connection waits."""
        super().on_message_complete()
        if not self.cycle.response_complete:
            self.waiting.pop(self, None)
        self._is_complete = True
        self._completed += 1

    def on_response_complete(self) -> None:
        """Note that the connection waits, unless a complete request was pipelined."""
        super().on_response_complete()
        unanswered = (c for c in (*self._earlier, self.cycle) if not c.response_complete)
        if not self.transport.is_closing() and all(cycle.more_body for cycle in unanswered):
            self.waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Mark all unanswered requests as disconnected; uvicorn itself marks only the last one."""
        self._stop_timer()
        self._stop_checking()
        self.waiting.pop(self, None)
        for earlier in self._earlier:
            earlier.disconnected = not earlier.response_complete
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start to check that the client reads its response."""
        super().pause_writing()
        self._check_progress_later()

    def resume_writing(self) -> None:
        """Stop checking: the client has read enough."""
        super().resume_writing()
        self._stop_checking()

    def _check_progress_later(self) -> None:
        """Check after `answer_time` that the client has read more of its response."""
        unread = self.transport.get_write_buffer_size()
        self._progress_timer = self.loop.call_later(self.answer_time, self._check_progress, unread)

    def _check_progress(self, unread_before: int) -> None:
        """Drop the connection if the client has read nothing since the last check."""
        if self.transport.get_write_buffer_size() < unread_before:
            self._check_progress_later()
        else:
            self.transport.abort()

    def _stop_checking(self) -> None:
        """Stop checking whether the client reads its response."""
        if self._progress_timer is not None:
            self._progress_timer.cancel()
            self._progress_timer = None

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing, so that clients cannot fill the log; the request is answered over HTTP."""

    def _keep_alive(self) -> None:
        """Close the connection if no data arrives in time; uvicorn does it only after responses."""
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _start_timer(self) -> None:
        """Refuse the request if it is not complete in time."""
        late = HTTPStatus.REQUEST_TIMEOUT
        self._request_timer = self.loop.call_later(self.request_time, self._refuse_and_close, late)

    def _stop_timer(self) -> None:
        """Cancel the time limit of the request."""
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _refuse_and_close(self, status: HTTPStatus) -> None:
        """Send an empty response with this status, and close the connection."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        self.transport.write(f"{head}connection: close\r\ncontent-length: 0\r\n\r\n".encode())
        self.transport.close()
