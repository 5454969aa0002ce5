"""A thousand calls that wait hold no connection; and who is cancelled leaves none open."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import ModuleType
from typing import Any

import aiohttp
import anyio
import anyio.to_thread
import httpx
import httpx2
import pytest
import requests

import tarry.call.http.httpx as for_httpx
import tarry.call.http.httpx2 as for_httpx2
from tarry import Fixed, NoJitter, Policy
from tarry.call.http.aiohttp import retry_middleware
from tarry.call.http.requests import RetryAdapter
from tarry.call.world import world
from tests.call.http.callers import CONTEXT
from tests.call.http.server import Server

CALLS = 1000
BATCH = 50  # httpx takes very long when a thousand come to its pool at once, and may lose some
STACK = 256 * 1024
POLICY = Policy(backoff=Fixed(1.0), jitter=NoJitter(), attempts=2, within=None)
PATIENT = 240.0  # for what hangs: a busy machine needs a while for a thousand threads


@pytest.fixture
def url(server: Server) -> str:
    with_and_without_body = [server.answer(503), server.answer(503, b"x" * 3000)]
    return server.script("/", *with_and_without_body * (CALLS // 2), 200)


def httpx_client(library: ModuleType, adapters: ModuleType) -> AbstractContextManager[Any]:
    # Where fewer connections may be kept than are open, httpx's pool can close one that it has
    # just given to another thread: "Bad file descriptor".
    limits = library.Limits(max_connections=BATCH, max_keepalive_connections=BATCH)
    transport = adapters.RetryTransport(policy=POLICY, verify=CONTEXT, limits=limits)
    client: AbstractContextManager[Any] = library.Client(transport=transport, timeout=PATIENT)
    return client


def requests_session() -> requests.Session:
    session = requests.Session()
    session.mount("http://", RetryAdapter(POLICY))
    return session


SYNC: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "httpx": lambda: httpx_client(httpx, for_httpx),
    "httpx2": lambda: httpx_client(httpx2, for_httpx2),
    "requests": requests_session,
}


@pytest.fixture
def small_stacks() -> Iterator[None]:
    usual = threading.stack_size(STACK)
    yield
    threading.stack_size(usual)


@pytest.mark.slow
@pytest.mark.usefixtures("small_stacks")
@pytest.mark.parametrize("made", SYNC.values(), ids=SYNC.keys())
def test_a_thousand_waiting_threads_hold_no_connection(
    server: Server,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    made: Callable[[], AbstractContextManager[Any]],
) -> None:
    waiting, go_on, ended = (threading.Semaphore(0) for _ in range(3))
    statuses: list[int] = []

    def sleep(_: float) -> None:
        waiting.release()
        go_on.acquire(timeout=PATIENT)

    monkeypatch.setattr(world, "sleep", sleep)
    with made() as client:

        def call() -> None:
            try:
                statuses.append(client.get(url).status_code)
            finally:
                ended.release()

        def all_of(batch: threading.Semaphore) -> bool:
            return all(batch.acquire(timeout=PATIENT) for _ in range(BATCH))

        everyone_waits = True
        for _ in range(CALLS // BATCH):
            for _ in range(BATCH):
                threading.Thread(target=call).start()
            everyone_waits &= all_of(waiting)
        closed = server.has_no_connection()
        for _ in range(CALLS // BATCH):
            go_on.release(BATCH)
            assert all_of(ended)
    assert everyone_waits
    assert closed
    assert statuses == [200] * CALLS


def httpx_async_client(
    library: ModuleType, adapters: ModuleType
) -> AbstractAsyncContextManager[Any]:
    transport = adapters.AsyncRetryTransport(policy=POLICY, verify=CONTEXT)
    client: AbstractAsyncContextManager[Any] = library.AsyncClient(
        transport=transport, timeout=PATIENT
    )
    return client


def aiohttp_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(middlewares=(retry_middleware(POLICY),))


async def status_of(client: Any, url: str) -> int:  # noqa: ANN401  any of the clients
    response = await client.get(url)
    if isinstance(response, aiohttp.ClientResponse):
        async with response:
            return response.status
    status: int = response.status_code
    return status


ASYNC: dict[str, tuple[str, Callable[[], AbstractAsyncContextManager[Any]]]] = {
    "httpx": ("asyncio", lambda: httpx_async_client(httpx, for_httpx)),
    "httpx trio": ("trio", lambda: httpx_async_client(httpx, for_httpx)),
    "httpx2": ("asyncio", lambda: httpx_async_client(httpx2, for_httpx2)),
    "httpx2 trio": ("trio", lambda: httpx_async_client(httpx2, for_httpx2)),
    "aiohttp": ("asyncio", aiohttp_session),
}


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "made"), ASYNC.values(), ids=ASYNC.keys())
def test_a_thousand_waiting_tasks_hold_no_connection(
    server: Server,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
    made: Callable[[], AbstractAsyncContextManager[Any]],
) -> None:
    async def main() -> bool:
        waiting, batch_waits = 0, anyio.Event()

        async def asleep(_: float) -> None:
            nonlocal waiting
            waiting += 1
            if waiting % BATCH == 0:
                batch_waits.set()
            await anyio.sleep_forever()

        monkeypatch.setattr(world, "asleep", asleep)
        with anyio.fail_after(PATIENT):
            async with made() as client, anyio.create_task_group() as group:
                for _ in range(CALLS // BATCH):
                    batch_waits = anyio.Event()
                    for _ in range(BATCH):
                        group.start_soon(status_of, client, url)
                    await batch_waits.wait()
                closed = await anyio.to_thread.run_sync(server.has_no_connection)
                group.cancel_scope.cancel()
        return closed and waiting == CALLS

    assert anyio.run(main, backend=backend)


def sent(server: Server) -> bool:
    """Whether a request has arrived, after a moment if need be."""
    give_up_at = time.monotonic() + PATIENT
    while not server.requests and time.monotonic() < give_up_at:
        time.sleep(0.002)
    return bool(server.requests)


@pytest.mark.parametrize(("backend", "made"), ASYNC.values(), ids=ASYNC.keys())
def test_a_call_cancelled_while_it_waits_ends_at_once(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
    made: Callable[[], AbstractAsyncContextManager[Any]],
) -> None:
    url = server.script("/", server.answer(503, b"no"))

    async def main() -> None:
        async with made() as client:
            with anyio.CancelScope() as scope:

                async def asleep(_: float) -> None:
                    scope.cancel()
                    await anyio.sleep_forever()

                monkeypatch.setattr(world, "asleep", asleep)
                await status_of(client, url)
            assert scope.cancelled_caught
            assert await anyio.to_thread.run_sync(server.has_no_connection)

    anyio.run(main, backend=backend)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("backend", "made"), ASYNC.values(), ids=ASYNC.keys())
def test_a_call_cancelled_while_it_is_on_its_way_is_not_tried_again(
    server: Server, backend: str, made: Callable[[], AbstractAsyncContextManager[Any]]
) -> None:
    url = server.script("/", server.late(PATIENT))

    async def main() -> None:
        async with made() as client, anyio.create_task_group() as group:
            group.start_soon(status_of, client, url)
            assert await anyio.to_thread.run_sync(sent, server)
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                assert await anyio.to_thread.run_sync(server.has_no_connection)

    anyio.run(main, backend=backend)
    assert len(server.requests) == 1
