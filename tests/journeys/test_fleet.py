"""Several workers at one origin that is down: they probe it as one, and come back as one."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Container, Iterator
from itertools import count, pairwise
from typing import Any

import pytest

from tarry.core.outcome import Kind
from tarry.core.pace import Phase
from tarry.service.dispatch.limits.gate import read_pace
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.origins.record_exchange import RECORD_INTERVAL
from tarry.service.dispatch.origins.shared_record import AHEAD, LOT
from tarry.service.explain import Outlook, PaceScope, origins_of, outlook
from tarry.service.model.application import Application, shard_of
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.settings import Limits
from tarry.service.store.kinds import Lanes
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, VirtualService, status, virtual_service
from tests.journeys.seeds import FIRST

SHORT = Limits(lease=10, look=10, keep_up=60)
AT = "https://gw.example:443"
HALF_AN_HOUR = 1800.0
APPLICATIONS = 12
HANGS = Answer(15.0, failure=Kind.TIMEOUT, unreachable=True)


class Gateway:
    """One host of many applications: down at first, and up to a capacity of so many a second."""

    def __init__(self, down: Answer = DOWN, capacity: int = 1_000_000) -> None:
        self.down: Answer | None = down
        self.at: list[float] = []
        """When requests came, since it was last emptied."""
        self._capacity = capacity
        self._taken: deque[float] = deque()

    def __call__(self, _request: Request, now: float) -> Answer:
        self.at.append(now)
        if self.down is not None:
            return self.down
        while self._taken and self._taken[0] <= now - 1:
            self._taken.popleft()
        if len(self._taken) >= self._capacity:
            return status(503)
        self._taken.append(now)
        return OK

    def come_back(self) -> None:
        self.down = None
        self.at.clear()

    def most_a_second(self) -> int:
        """Return the most requests that came within a second."""
        return max(sum(at <= other < at + 1 for other in self.at) for at in self.at)


class Fleet:
    """Workers on one store, with endpoints of many applications at one gateway."""

    def __init__(self, first: VirtualService, gateway: Gateway) -> None:
        self.workers = [first]
        self.gateway = gateway
        self.endpoints: list[Endpoint] = []
        self.owners: list[Application] = []
        first.sender.scripts["gw.example"] = gateway

    async def grow(self, size: int) -> None:
        """Have so many workers, each with its share of the shards."""
        for seed in range(len(self.workers), size):
            other = VirtualService(beside=self.workers[0], limits=SHORT, seed=FIRST + seed)
            self.workers.append(other)
            await other.start()
        await asyncio.sleep(3 * SHORT.lease)

    async def add(self, each: int) -> None:
        """Have an endpoint of each application, and messages for it."""
        for number in range(APPLICATIONS):
            held = self.workers[number % len(self.workers)].dispatcher.shards.owned
            owner = await self.workers[0].add_application(id=next(self._ids_of(held)))
            path = f"/{number}"
            endpoint = await self.workers[0].add_endpoint(
                "gw.example", application=owner, path=path
            )
            self.owners.append(owner)
            self.endpoints.append(endpoint)
            await self.workers[0].add(each, owner)

    def _ids_of(self, shards: Container[int]) -> Iterator[str]:
        """Return ids of new applications in some shards."""
        used = {owner.id for owner in self.owners}
        ids = (f"app_{number}" for number in count())
        return (one for one in ids if shard_of(one) in shards and one not in used)

    def levels(self) -> list[Origin]:
        """Return the whole of the gateway at each worker."""
        return [
            level
            for worker in self.workers
            for level in worker.dispatcher.origins
            if not level.application
        ]

    def probes(self) -> int:
        return sum(worker.dispatcher.context.counters.probes for worker in self.workers)

    async def until_delivered(self, within: float) -> float:
        first = self.workers[0]
        began_at = first.now()
        for endpoint in self.endpoints:
            await first.until_delivered(endpoint, within=within - (first.now() - began_at))
        return first.now() - began_at

    async def stop(self) -> None:
        for worker in self.workers[1:]:
            await worker.stop()


@pytest.mark.parametrize("answer", [DOWN, HANGS], ids=["refuses connections", "hangs"])
@virtually
async def test_a_dead_origin_is_probed_as_often_by_four_workers_as_by_one(answer: Answer) -> None:
    probes: dict[int, int] = {}
    for size in (1, 2, 4):
        async with virtual_service(limits=SHORT) as first:
            fleet = Fleet(first, Gateway(answer))
            await fleet.grow(size)
            await fleet.add(20)
            await asyncio.sleep(HALF_AN_HOUR)
            assert [level.gate.phase for level in fleet.levels()] == [Phase.OPEN] * size
            probes[size] = fleet.probes()
            await fleet.stop()
    assert 40 <= probes[1] <= 60
    assert max(probes[2], probes[4]) <= 1.3 * probes[1]


@virtually
async def test_all_workers_hear_within_moments_that_it_is_back_and_all_is_delivered() -> None:
    async with virtual_service(limits=SHORT) as first:
        fleet = Fleet(first, Gateway())
        await fleet.grow(4)
        await fleet.add(20)
        await asyncio.sleep(HALF_AN_HOUR)
        fleet.gateway.come_back()
        levels = fleet.levels()
        while all(level.gate.phase is Phase.OPEN for level in levels):  # noqa: ASYNC110  virtual time
            await asyncio.sleep(0.05)
        await asyncio.sleep(RECORD_INTERVAL + 0.1)
        assert not [level for level in levels if level.gate.phase is Phase.OPEN]
        await fleet.until_delivered(within=30)
        await asyncio.sleep(5)
        assert [level.shared for level in levels] == [False] * 4
        await fleet.stop()


@virtually
async def test_four_workers_come_back_no_faster_than_one() -> None:
    most: dict[int, int] = {}
    took: dict[int, float] = {}
    for size in (1, 4):
        async with virtual_service(limits=SHORT) as first:
            fleet = Fleet(first, Gateway(capacity=100))
            await fleet.grow(size)
            await fleet.add(80)
            await asyncio.sleep(300)
            fleet.gateway.come_back()
            found = first.now()
            while not fleet.gateway.at:  # noqa: ASYNC110  virtual time
                await asyncio.sleep(0.05)
            assert first.now() - found < 40
            await asyncio.sleep(3)
            most[size] = fleet.gateway.most_a_second()
            took[size] = 3 + await fleet.until_delivered(within=120)
            await fleet.stop()
    assert most[4] <= 1.3 * most[1]
    assert took[4] <= 2 * took[1]


@virtually
async def test_when_the_worker_that_probes_dies_another_one_sends_the_next_probe() -> None:
    async with virtual_service(limits=SHORT) as first:
        fleet = Fleet(first, Gateway(HANGS))
        await fleet.grow(2)
        await fleet.add(20)
        await asyncio.sleep(600)
        dying = fleet.workers.pop()
        sent = dying.dispatcher.context.counters.probes
        while dying.dispatcher.context.counters.probes == sent:  # noqa: ASYNC110  virtual time
            await asyncio.sleep(0.001)
        await dying.crash()  # its probe is claimed, and nobody will say what came of it
        (text,) = await first.store.origins([AT])
        next_at = read_pace(text, now=first.now()).probe_at
        assert first.now() + AHEAD - 0.1 <= next_at <= first.now() + 35
        fleet.gateway.at.clear()
        await asyncio.sleep(next_at + LOT + 0.1 - first.now())
        assert len(fleet.gateway.at) == 1
        fleet.gateway.come_back()
        await fleet.until_delivered(within=90)


@virtually
async def test_a_worker_that_has_nothing_to_send_there_does_not_keep_others_waiting() -> None:
    async with virtual_service(limits=SHORT) as first:
        fleet = Fleet(first, Gateway())
        await fleet.grow(2)
        await fleet.add(20)
        await asyncio.sleep(600)
        idle = fleet.workers[1].dispatcher
        for owner, endpoint in zip(fleet.owners, fleet.endpoints, strict=True):
            if owner.shard in idle.shards.owned:
                await first.change(endpoint, standing=Standing.PAUSED)
        sent = idle.context.counters.probes
        fleet.gateway.at.clear()
        await asyncio.sleep(600)
        longest = 33 + LOT
        gaps = [later - earlier for earlier, later in pairwise(fleet.gateway.at)]
        # The idle worker may claim one probe that it does not send.
        assert sum(gap > longest for gap in gaps) <= 1
        assert max(gaps) <= 2 * longest
        assert idle.context.counters.probes == sent
        await fleet.stop()


@virtually
async def test_what_is_told_of_lanes_is_what_the_fleet_knows() -> None:
    async with virtual_service(limits=SHORT) as first:
        fleet = Fleet(first, Gateway())
        await fleet.grow(2)
        await fleet.add(200)
        await asyncio.sleep(600)
        for endpoint in fleet.endpoints:
            told = await told_of(first, endpoint)
            assert (told.phase, told.scope) == (Phase.OPEN, PaceScope.ORIGIN)
            assert told.probe_at is not None
            assert first.now() < told.probe_at + LOT + 0.1 <= first.now() + 40
        fleet.gateway.come_back()
        while not fleet.gateway.at:  # noqa: ASYNC110  virtual time
            await asyncio.sleep(0.05)
        await asyncio.sleep(RECORD_INTERVAL + 1)
        for endpoint in fleet.endpoints:
            assert (await told_of(first, endpoint)).phase is Phase.PACED
        await fleet.until_delivered(within=120)
        await asyncio.sleep(RECORD_INTERVAL + 1)
        for endpoint in fleet.endpoints:
            assert (await told_of(first, endpoint)).phase is Phase.CLOSED
        await fleet.stop()


@virtually
async def test_workers_read_no_records_while_all_is_well() -> None:
    between = Between(Reads)
    async with virtual_service(limits=SHORT, through=between) as first:
        gateway = Gateway()
        gateway.come_back()
        fleet = Fleet(first, gateway)
        await fleet.grow(2)
        await fleet.add(20)
        await asyncio.sleep(60)
        read = between.shaky.reads
        await asyncio.sleep(600)
        assert between.shaky.reads == read
        await fleet.stop()


class Reads(Shaky):
    """Counts how often records of origins are read or written."""

    reads = 0

    async def _done(
        self,
        name: str,
        step: Callable[..., Awaitable[Any]],
        *args: Any,  # noqa: ANN401  whatever it takes
        **kwargs: Any,  # noqa: ANN401  likewise
    ) -> Any:  # noqa: ANN401  whatever it gives
        self.reads += name in {"origins", "learn"}
        return await step(*args, **kwargs)


async def told_of(service: VirtualService, endpoint: Endpoint) -> Outlook:
    row = await service.store.get(Lanes(endpoint.application), endpoint.id)
    records = await service.store.origins(origins_of(row))
    return outlook(row, now=service.now(), origins=records)
