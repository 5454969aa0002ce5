"""An HTTP server on the running event loop, as a context manager."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn

from tarry.errors import SettingsError
from tarry.service.api.http.connection import Connection
from tarry.service.wire.own_address import own_addresses

BACKLOG = 2048
"""The most connections that wait to be accepted."""


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to the program."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle no signals."""
        yield


def read_address(text: str) -> tuple[str, int]:
    """Parse an address to listen on, like `127.0.0.1:8400` or `[::1]:8400`."""
    host, _, port = text.rpartition(":")
    is_host = host if ":" not in host else host.startswith("[") and host.endswith("]")
    if not is_host or not port.isdecimal() or int(port) > 65_535:  # noqa: PLR2004  TCP's own
        raise SettingsError("listen", text, "HOST:PORT, for example 127.0.0.1:8400")
    return host.strip("[]"), int(port)


def own_of(listen: str, public_url: str | None = None) -> tuple[str, ...]:
    """Return the addresses of a server that listens there, which its service must not call."""
    return own_addresses(*read_address(listen), public_url)


def bound(listen: str) -> socket.socket:
    """Return a socket that listens on an address; SettingsError if that is not possible."""
    host, port = read_address(listen)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]  # the error already has the address
        wanted = f"an address of this machine that is free ({reason})"
        raise SettingsError("listen", listen, wanted) from error
    # Connections inherit this option. asyncio sets it only on sockets whose protocol is TCP; this
    # one has protocol 0. Without it, a body waits 40 ms until the head before it is acknowledged.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


@asynccontextmanager
async def serving(
    app: Any,  # noqa: ANN401  any ASGI callable
    listen: str,
    hurry: asyncio.Event | None = None,
) -> AsyncIterator[str]:
    """Serve an ASGI application and yield its URL.

    At the end, wait for running requests, but at most ten seconds or until `hurry` is set.
    """
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_level="error",  # each malformed request is a warning, and anybody may send many
        timeout_graceful_shutdown=10,
    )
    server = _Server(config)
    with bound(listen) as listening:
        host, port = listening.getsockname()[:2]
        running = asyncio.create_task(server.serve([listening]))
        try:
            while not server.started and not running.done():  # noqa: ASYNC110  it offers no event
                await asyncio.sleep(0.005)
            yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        finally:
            server.should_exit = True
            hurried = asyncio.create_task((hurry or asyncio.Event()).wait())
            await asyncio.wait({running, hurried}, return_when=asyncio.FIRST_COMPLETED)
            server.force_exit = hurried.done()
            hurried.cancel()
            await running
