"""An HTTP server on the running event loop, started and stopped by whoever needs it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn

from tarry.errors import SettingsError


class _Server(uvicorn.Server):
    """Leaves signals to the program."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield


def read_address(text: str) -> tuple[str, int]:
    """Read where to listen, like `127.0.0.1:8400` or `[::1]:8400`."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:  # noqa: PLR2004  TCP's own
        raise SettingsError("listen", text, "HOST:PORT, for example 127.0.0.1:8400")
    return host.strip("[]"), int(port)


@asynccontextmanager
async def serving(app: Any, listen: str) -> AsyncIterator[str]:  # noqa: ANN401  any ASGI callable
    """Serve an ASGI application; gives its URL. At the end running requests are finished."""
    host, port = read_address(listen)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=10,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve())
    try:
        while not server.started:
            if running.done():
                raise SettingsError("listen", listen, "an address that is free on this machine")
            await asyncio.sleep(0.005)
        bound = server.servers[0].sockets[0].getsockname()
        shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        yield f"http://{shown}:{bound[1]}"
    finally:
        server.should_exit = True
        await asyncio.wait({running})
