"""Name servers that do not answer for one tenant's endpoints keep no other tenant waiting."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from tarry.service import Hooks, open_hooks
from tarry.service.wire.lookups import THREADS
from tarry.testing.receiver import Receiver

pytestmark = pytest.mark.anyio

HUNG, OTHERS = 40, 16


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Names:
    """A system whose look-ups of some names hang; all names lead to this machine."""

    def __init__(self) -> None:
        self.hanging: list[str] = []
        self.let_go = Event()

    def getaddrinfo(self, host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        if "hung" in host:
            self.hanging.append(host)
            assert self.let_go.wait(60)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    made = Names()
    monkeypatch.setattr(socket, "getaddrinfo", made.getaddrinfo)
    yield made
    made.let_go.set()
    for thread in threading.enumerate():
        if thread.name == "tarry-resolve":
            thread.join(60)


async def until(true: Callable[[], bool], within: float) -> None:
    async with asyncio.timeout(within):
        while not true():  # noqa: ASYNC110  a thread tells nobody
            await asyncio.sleep(0.01)


async def tenant(hooks: Hooks, name: str, *urls: str) -> None:
    """Add an application with these endpoints, and a message for them."""
    application = await hooks.application(name)
    for url in urls:
        await hooks.add_endpoint(application, url)
    await hooks.send(application, "a.b", {"tenant": name})


async def test_names_that_hang_keep_only_their_own_tenant_waiting(
    tmp_path: Path, names: Names
) -> None:
    db = f"sqlite:////{str(tmp_path / 'hooks.db').lstrip('/')}"
    with Receiver() as receiver:
        port = receiver.url.split(":")[2].split("/")[0]
        async with open_hooks(db, allow_network=("127.0.0.0/8",)) as hooks, hooks.dispatching():
            bad = [f"http://hung{number}.example:{port}/in" for number in range(HUNG)]
            await tenant(hooks, "bad", *bad)
            await until(lambda: len(names.hanging) == THREADS // 2, 30)
            for number in range(OTHERS):
                url = f"http://good{number}.example:{port}/in"
                await tenant(hooks, f"good{number}", url)
            # A look-up that hangs is given up after 5 s.
            await until(lambda: len(receiver.arrivals) == OTHERS, 4)
            names.let_go.set()
            await until(lambda: len(receiver.arrivals) == OTHERS + HUNG, 30)
