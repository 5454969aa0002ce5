"""The database is slow, away, or forgets to say that it has done something: all goes on after."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Lease
from tarry.service.model.settings import Limits
from tarry.service.model.task import Work
from tarry.service.store.kinds import AllDeliveriesOf, Lanes
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import a_task
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, Sent, VirtualService, status, virtual_service
from tests.journeys.seeds import FIRST, seeded

SHORT = Limits(lease=10, look=1, keep_up=20)


class Deaf(Shaky):
    """Its wake-ups are lost on the way."""

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        await self._store.woken(leases)
        return []


async def ended(service: VirtualService, endpoints: list[Endpoint], within: float) -> None:
    for endpoint in endpoints:
        await service.until_delivered(endpoint, within=within)


async def something(service: VirtualService, endpoint: Endpoint, what: int) -> None:
    """Somebody does something to an endpoint, or nothing."""
    match what:
        case 0:
            await service.change(endpoint, standing=Standing.PAUSED)
            await asyncio.sleep(1)
            await service.change(endpoint, standing=Standing.ENABLED)
        case 1:
            await service.store.add_task(a_task(endpoint, Work.RECOVER))
        case 2 | 3:
            await service.change(endpoint, rate=None if what % 2 else 5.0)
        case _:
            pass


def sent_again_without_need(
    sent: Sequence[Sent], away: Sequence[tuple[float, float]]
) -> list[Sent]:
    """What was sent although it had been taken before, and the database had been told of that.

    It was if it was there all the time, from the sending until a second after the answer.
    """
    taken: set[tuple[str, str]] = set()
    again = []
    for one in sent:
        if (one.host, one.message) in taken:
            again.append(one)
        written = one.at + one.answer.took + 1
        if one.answer.status == OK.status and not any(
            since < written and one.at < until for since, until in away
        ):
            taken.add((one.host, one.message))
    return again


@virtually
async def test_all_goes_on_after_the_database_was_away() -> None:
    between = Between(Shaky)
    async with virtual_service(limits=SHORT, through=between) as service:
        endpoints = [await service.add_endpoint(f"{name}.example") for name in "abcd"]
        for away in (0.5, 5.0, 9.0, 30.0):
            between.shaky.away = True
            messages = await service.add(20)
            await asyncio.sleep(away)
            between.shaky.away = False
            await ended(service, endpoints, within=30)
            for message in messages:
                states = {
                    one.state for _, one in await service.store.read(AllDeliveriesOf(message))
                }
                assert states == {State.DELIVERED}
        sent = Counter((one.host, one.message) for one in service.sender.sent)
        assert set(sent.values()) == {1}


@virtually
async def test_nothing_is_sent_again_while_an_answer_cannot_be_written_down() -> None:
    between = Between(Shaky)
    async with virtual_service(limits=SHORT, through=between) as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: Answer(1.0, status=200))
        await service.add(50)
        await asyncio.sleep(0.5)
        between.shaky.away = True
        await asyncio.sleep(7)
        between.shaky.away = False
        await ended(service, [endpoint], within=30)
        sent = Counter(one.message for one in service.sender.sent)
        assert set(sent.values()) == {1}


@virtually
async def test_a_commit_of_which_nobody_heard_is_made_once() -> None:
    between = Between(Shaky)
    async with virtual_service(limits=SHORT, through=between) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(30)
        between.shaky.forgets = True
        await asyncio.sleep(3)
        between.shaky.forgets = False
        await ended(service, [endpoint], within=30)
        assert await service.counts(endpoint) == {State.DELIVERED: 30}
        row = await service.store.get(Lanes(endpoint.application), endpoint.id)
        assert (row.added, row.ended) == (30, 30)


@pytest.mark.parametrize("seed", [*range(6), 7, 42])
@virtually
async def test_with_a_slow_and_unreliable_database_all_ends_well(seed: int) -> None:
    chance, slowness = seeded(seed), seeded(seed)
    between = Between(lambda store: Shaky(store, latency=lambda: slowness.uniform(0, 0.04)))
    async with virtual_service(seed=FIRST + seed, limits=SHORT, through=between) as service:
        outages: dict[str, float] = {}
        away: list[tuple[float, float]] = []

        def script(request: Request, now: float) -> Answer:
            if now < outages.get(request.target.host, 0.0):
                return DOWN
            if chance.random() < 0.1:
                return chance.choice([status(500), status(429, retry_after="2"), DOWN])
            return Answer(chance.uniform(0.005, 0.5), status=200)

        policy = '{"version": 1, "attempts": 60, "within": 86400, "backoff": {"kind": "fixed", '
        policy += '"delay": 2}}'
        endpoints = [
            await service.add_endpoint(f"{name}.example", script, fifo=fifo, policy=policy)
            for name, fifo in (("a", False), ("b", False), ("c", True), ("d", False))
        ]
        for _ in range(40):
            await service.add(chance.randint(0, 8))
            await asyncio.sleep(chance.uniform(0, 3))
            if chance.random() < 0.125:
                between.shaky.away, since = True, service.now()
                await asyncio.sleep(chance.uniform(0, 12))
                between.shaky.away = False
                away.append((since, service.now()))
            if chance.random() < 0.125:
                outages["a.example"] = service.now() + 30
            await something(service, chance.choice(endpoints), chance.randint(0, 5))
        await ended(service, endpoints, within=900)
        for endpoint in endpoints:
            assert set(await service.counts(endpoint)) == {State.DELIVERED}
        assert not sent_again_without_need(service.sender.sent, away)
        await asyncio.sleep(5)
        context, work = service.dispatcher.context, service.dispatcher.work
        assert (context.slots.free, context.buffered.bytes, work.unsettled) == (1000, 0, 0)
        lanes = [lane for held in service.dispatcher.shards.owned.values() for lane in held.lanes]
        assert lanes == []


@virtually
async def test_a_lane_whose_wake_up_was_lost_does_not_sleep_for_ever() -> None:
    async with virtual_service(limits=SHORT, through=lambda store: Deaf(store).store) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add()
        await service.until_delivered(endpoint, within=SHORT.keep_up + 1)
