"""Clocks that step: nothing is sent early, nothing is stranded, nothing is lost."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tarry.core.backoff import Fixed
from tarry.core.jitter import NoJitter
from tarry.core.policy import Policy
from tarry.core.text import to_json
from tarry.service.build import Settings
from tarry.service.hooks import Hooks
from tarry.service.model.settings import Limits
from tarry.service.store.sqlite.store import open_sqlite
from tarry.testing.receiver import Receiver

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 0.8
HOUR, DAY = 3600.0, 86_400.0
SLOW = Policy(backoff=Fixed(WAIT), jitter=NoJitter(), attempts=5)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


class Wall:
    """A wall clock that somebody sets."""

    def __init__(self) -> None:
        self.step = 0.0

    def __call__(self) -> float:
        return time.time() + self.step


@pytest.mark.parametrize("step", [HOUR, -HOUR, DAY, -DAY])
async def test_a_step_of_the_clock_neither_sends_early_nor_strands(
    tmp_path: Path, receiver: Receiver, step: float
) -> None:
    wall = Wall()
    store = await open_sqlite(tmp_path / "hooks.db", clock=wall)
    limits = Limits(lease=1.0, margin=0.2)
    settings = Settings(
        db=f"sqlite:///{tmp_path / 'hooks.db'}", allow_network=("127.0.0.0/8",), limits=limits
    )
    hooks = Hooks(settings, store, now=wall)
    await store.put_environment(hooks.environment)
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, receiver.url, policy=to_json(SLOW))
    async with asyncio.timeout(60), hooks.dispatching():
        receiver.script([500])
        first = await hooks.send(shop, "order.paid", {})
        await arrived(receiver, 1)
        wall.step = step
        later = await hooks.send(shop, "order.paid", {})
        await arrived(receiver, 3)
        wall.step = 0.0
        last = await hooks.send(shop, "order.paid", {})
        await arrived(receiver, 4)
        for accepted in (first, later, last):
            while (await hooks.deliveries(accepted.message))[0][1].state != "delivered":  # noqa: ASYNC110  nobody tells
                await asyncio.sleep(0.01)
    await store.close()
    times = [one.at for one in receiver.arrivals if one.id == first.message.id]
    assert times[1] - times[0] >= WAIT


async def arrived(receiver: Receiver, many: int) -> None:
    while len(receiver.arrivals) < many:  # noqa: ASYNC110  a receiver's thread tells nobody
        await asyncio.sleep(0.01)
