"""A bad neighbour costs a healthy endpoint nothing: real receivers, much waiting, one process.

`./dev bench isolation` measures times. These tests compare times with those before the neighbour
came, and count what is fetched and kept.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tarry.cli.bench.cost import megabytes
from tarry.service import Hooks, open_hooks
from tarry.service.dispatch.dispatcher import Dispatcher
from tarry.service.model.application import Application
from tarry.service.model.lane import Fetched
from tarry.service.model.message import NewMessage
from tarry.testing import zoo
from tarry.testing.receiver import Receiver
from tests.kept_port import kept_port

pytestmark = pytest.mark.anyio

WAITING, HEALTHY = 50_000, 200
PATIENCE = 60.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def nobody() -> Iterator[str]:
    """The URL of an endpoint that is down."""
    with kept_port() as port:
        yield f"http://127.0.0.1:{port}/in"


@contextmanager
def slow() -> Iterator[str]:
    """One that takes a second for each answer."""
    with Receiver(latency=1.0, record=False) as receiver:
        yield receiver.url


@contextmanager
def dripping() -> Iterator[str]:
    """One that answers a byte a second."""
    with zoo.receiver("slow-head") as receiver:
        yield receiver.url


async def fill(hooks: Hooks, application: Application) -> None:
    for _ in range(WAITING // 1000):
        new = [NewMessage(hooks.message(application, "a.b", {})) for _ in range(1000)]
        await hooks.send_many(new)


async def arrive(hooks: Hooks, shop: Application, receiver: Receiver) -> list[float]:
    """How long each message takes from the call that hands it in to its arrival."""
    took = []
    for number in range(len(receiver.arrivals) + 1, len(receiver.arrivals) + HEALTHY + 1):
        began = time.monotonic()
        await hooks.send(shop, "a.b", {})
        while len(receiver.arrivals) < number:
            assert time.monotonic() < began + PATIENCE
            await asyncio.sleep(0.001)
        took.append(receiver.arrivals[-1].at - began)
    return sorted(took)


@pytest.mark.parametrize("neighbour", [nobody, slow, dripping])
async def test_a_bad_neighbour_with_much_waiting_holds_nobody_up(
    tmp_path: Path, neighbour: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = f"sqlite:////{str(tmp_path / 'hooks.db').lstrip('/')}"
    fetched: list[int] = []
    with Receiver() as receiver, neighbour() as bad:
        async with open_hooks(db, allow_network=("127.0.0.0/8",)) as hooks:
            shop, other = await hooks.application("shop"), await hooks.application("other")
            await hooks.add_endpoint(shop, receiver.url)
            async with hooks.dispatching():
                usual = await arrive(hooks, shop, receiver)
            await hooks.add_endpoint(other, bad)
            await fill(hooks, other)
            ask = hooks.store.fetch

            async def counted(*args: object, **values: object) -> Fetched:
                found: Fetched = await ask(*args, **values)  # type: ignore[arg-type]  # handed on
                fetched.append(len(found.due))
                return found

            monkeypatch.setattr(hooks.store, "fetch", counted)
            before = megabytes(os.getpid())
            async with hooks.dispatching() as dispatcher:
                took = await arrive(hooks, shop, receiver)
                assert megabytes(os.getpid()) - before < 50
                assert kept(dispatcher) <= 2_000
    assert took[len(took) // 2] < 5 * usual[len(usual) // 2] + 0.25
    assert took[-HEALTHY // 20] < 5 * usual[-HEALTHY // 20] + 1.0
    # Never a good part of what waits: some at a time, and again only as they are sent.
    assert max(fetched) <= 2_000
    assert sum(fetched) < WAITING // 5


def kept(dispatcher: Dispatcher) -> int:
    """Deliveries that are held in memory: at hand, on their way, or not written down yet."""
    now = dispatcher.context.now()
    lanes = [lane for held in dispatcher.shards.owned.values() for lane in held.lanes.values()]
    return dispatcher.work.unsettled + sum(
        lane.in_flight + lane.backlog.buffer.at_hand(now) for lane in lanes
    )
