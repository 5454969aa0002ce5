"""A real server with its dispatcher at work in a thread, for commands that ask one."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from tarry.service import open_hooks
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.testing.receiver import Receiver
from tests.cli.readable_process import readable_process
from tests.cli.shell import KEY, Shell

__all__ = ["readable_process"]

LOCAL = ("127.0.0.0/8",)


@asynccontextmanager
async def _serving(db: str) -> AsyncIterator[str]:
    async with (
        open_hooks(db, allow_network=LOCAL) as hooks,
        serving(await make_api(hooks, KEY), "127.0.0.1:0") as url,
        hooks.dispatching(),
    ):
        yield url


async def _serve(db: str, said: list[str], ready: Event, stop: Event) -> None:
    try:
        async with _serving(db) as url:
            said.append(url)
            ready.set()
            await asyncio.to_thread(stop.wait)
    finally:
        ready.set()


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A server on a new database, with an application `shop` whose endpoint `till` answers."""
    path = tmp_path_factory.mktemp("served") / "hooks.db"
    db, said, ready, stop = f"sqlite:///{path}", list[str](), Event(), Event()
    serve = Thread(target=lambda: asyncio.run(_serve(db, said, ready, stop)))
    with Receiver(bodies=True) as receiver:
        serve.start()
        try:
            assert ready.wait(60)
            opened = Shell(said[0], db, receiver)
            opened.out("app", "create", "The shop", "--uid", "shop")
            yield opened
        finally:
            stop.set()
            serve.join(60)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
