"""Clocks that step: nothing is sent early, nothing is stranded, nothing is lost."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tarry.core.backoff import Fixed
from tarry.core.jitter import NoJitter
from tarry.core.policy import Policy
from tarry.core.text import to_json
from tarry.service.build import make_hooks
from tarry.service.hooks import Hooks
from tarry.service.model.message import Message
from tarry.service.model.settings import Limits
from tarry.service.settings import Settings
from tarry.service.store.kinds import Environment
from tarry.service.store.sqlite.store import open_sqlite
from tarry.testing.receiver import Receiver

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 0.8
ANSWERED_AFTER = 0.2
"""Seconds that an attempt takes: long enough for the clock to step before it ends."""
STRANDED = 150.0
"""Seconds after which a delivery counts as stranded: much longer than its wait, on any machine."""
HOUR, DAY = 3600.0, 86_400.0
SLOW = Policy(backoff=Fixed(WAIT), jitter=NoJitter(), attempts=5, within=None)


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
@pytest.mark.parametrize("waits", [False, True], ids=["during the attempt", "during the wait"])
async def test_a_step_of_the_clock_neither_sends_early_nor_strands(
    tmp_path: Path, receiver: Receiver, step: float, *, waits: bool
) -> None:
    wall = Wall()
    store = await open_sqlite(tmp_path / "hooks.db", clock=wall)
    limits = Limits(lease=5.0, margin=0.2)  # a busy machine keeps it too
    settings = Settings(
        db=f"sqlite:///{tmp_path / 'hooks.db'}", allow_network=("127.0.0.0/8",), limits=limits
    )
    hooks = make_hooks(settings, store, now=wall)
    await store.put(Environment(hooks.environment))
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, receiver.url, policy=to_json(SLOW))
    async with asyncio.timeout(STRANDED), hooks.dispatching():
        receiver.latency = ANSWERED_AFTER
        receiver.script([500])
        first = await hooks.send(shop, "order.paid", {})
        await arrived(receiver, 1)
        if waits:
            await reached(hooks, first.message, "waiting")
        wall.step = step
        later = await hooks.send(shop, "order.paid", {})
        await arrived(receiver, 3)
        wall.step = 0.0
        last = await hooks.send(shop, "order.paid", {})
        for accepted in (first, later, last):
            await reached(hooks, accepted.message, "delivered")
    await store.close()
    assert Counter(one.id for one in receiver.arrivals) == {
        first.message.id: 2,
        later.message.id: 1,
        last.message.id: 1,
    }
    # The receiver notes when a request arrives before it answers: whatever the load, the wait that
    # it sees is never shorter than the one that was decided.
    times = [arrival.at for arrival in receiver.arrivals if arrival.id == first.message.id]
    assert times[1] - times[0] >= ANSWERED_AFTER + WAIT


async def arrived(receiver: Receiver, many: int) -> None:
    """Return once so many requests have arrived."""
    while len(receiver.arrivals) < many:  # noqa: ASYNC110  a receiver's thread tells nobody
        await asyncio.sleep(0.01)


async def reached(hooks: Hooks, message: Message, state: str) -> None:
    """Return once the only delivery of a message is in a state."""
    while (await hooks.deliveries(message))[0][1].state != state:  # noqa: ASYNC110  nobody tells
        await asyncio.sleep(0.01)
