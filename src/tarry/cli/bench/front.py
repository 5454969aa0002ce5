"""The servers that `tarry bench ingest` posts to, each in a process of its own.

`python -m tarry.cli.bench.front echo` answers 202 to every request: the floor, a bare ASGI callable
on the same HTTP server. `... front starlette` does the same in a Starlette route. `... front URL`
stores messages in that database but delivers nothing. `... front URL SINK` also delivers them to
SINK.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

import uvloop

from tarry.cli.bench.drain import open_unused
from tarry.cli.exit_codes import UNUSABLE, WRONG
from tarry.cli.service.garbage_collection import seldom_collected
from tarry.errors import SettingsError, TarryError
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.hooks import Hooks
from tarry.service.model.endpoint import Standing
from tarry.service.model.listing import Cut
from tarry.service.store.kinds import Endpoints

BENCH_APPLICATION = "bench"
BENCH_KEY = "bench"
"""The API key that the load generator uses; nothing else reaches this server."""
ANYWHERE = "127.0.0.1:0"


async def echo(
    _scope: Mapping[str, object],
    receive: Callable[[], Awaitable[Mapping[str, object]]],
    send: Callable[[Mapping[str, object]], Awaitable[None]],
) -> None:
    """Read a request and answer 202."""
    while (await receive()).get("more_body"):
        pass
    start = {"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"2")]}
    await send(start)
    await send({"type": "http.response.body", "body": b"{}"})


def starlette_echo() -> object:
    """Build the same application on a framework, to show what the framework alone costs."""
    from starlette.applications import Starlette  # noqa: PLC0415  optional
    from starlette.requests import Request  # noqa: PLC0415  likewise
    from starlette.responses import Response  # noqa: PLC0415  likewise
    from starlette.routing import Route  # noqa: PLC0415  likewise

    async def answer(request: Request) -> Response:
        await request.body()
        return Response(b"{}", 202)

    path = "/api/v1/app/{app_id}/msg"
    return Starlette(routes=[Route(path, answer, methods=["POST"])])


async def main(target: str, deliver_to: str | None = None) -> None:
    """Serve until standard input closes; the first line of output is the URL."""
    if target in {"echo", "starlette"}:
        async with serving(echo if target == "echo" else starlette_echo(), ANYWHERE) as url:
            await _wait_until_closed(url)
        return
    async with open_unused(target) as hooks, AsyncExitStack() as opened:
        if deliver_to is None:
            await _endpoint(hooks, "https://hooks.example.com/in", Standing.PAUSED)
        else:
            await _endpoint(hooks, deliver_to, Standing.ENABLED)
            await opened.enter_async_context(hooks.dispatching())
        async with serving(await make_api(hooks, BENCH_KEY), ANYWHERE) as url:
            with seldom_collected():  # as in `tarry serve`
                await _wait_until_closed(url)


async def _endpoint(hooks: Hooks, url: str, standing: Standing) -> None:
    """Create the benchmark's application, and an endpoint in it if it has none."""
    application = await hooks.application(BENCH_APPLICATION)
    if not (await hooks.store.page(Endpoints(application.id), Cut(limit=1))).entries:
        await hooks.add_endpoint(application, url, standing=standing)


async def _wait_until_closed(url: str) -> None:
    """Print the server's URL, and wait until standard input closes."""
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    try:
        uvloop.run(main(*sys.argv[1:]))
    except TarryError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(WRONG if isinstance(error, SettingsError) else UNUSABLE)
