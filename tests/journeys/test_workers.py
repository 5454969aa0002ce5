"""Several dispatchers on one store: they share, hand over, take over, and never both own a lane."""

import asyncio
from collections import Counter

from tarry.service.model.application import SHARDS
from tarry.service.model.delivery import State
from tarry.service.model.settings import Limits
from tarry.service.wire.exchange import Answer
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import VirtualService, virtual_service

SHORT = Limits(lease=10, look=1, keep_up=60)


async def tenants(service: VirtualService, count: int, rate: float | None = None) -> None:
    """Applications in many shards, each with an endpoint and messages."""
    for number in range(count):
        owner = await service.add_application()
        await service.add_endpoint(
            f"t{number}.example",
            lambda _r, _n: Answer(0.3, status=200),
            application=owner,
            rate=rate,
        )
        await service.add(40, owner)


async def left(service: VirtualService) -> int:
    return sum(lane.added - lane.ended for lane in service.store._data.lanes.values())  # noqa: SLF001  all of them


async def until_all_delivered(service: VirtualService, within: float) -> float:
    began_at = service.now()
    while await left(service):
        assert service.now() - began_at < within
        await asyncio.sleep(0.1)
    return service.now() - began_at


def copies(service: VirtualService) -> Counter[int]:
    """How many messages were sent how often."""
    sent = Counter((one.host, one.message) for one in service.sender.sent)
    return Counter(sent.values())


@virtually
async def test_two_share_the_shards_and_nothing_is_sent_twice() -> None:
    async with virtual_service(limits=SHORT) as first:
        second = VirtualService(beside=first, limits=SHORT)
        await tenants(first, 40)
        await second.start()
        await asyncio.sleep(30)
        shares = [len(one.dispatcher.shards.owned) for one in (first, second)]
        assert shares == [SHARDS // 2, SHARDS // 2]
        await tenants(first, 40)
        await until_all_delivered(first, within=60)
        assert copies(first) == {1: 80 * 40}
        assert all(one.dispatcher.context.counters.sent > 200 for one in (first, second))
        await second.stop()


@virtually
async def test_one_that_stops_hands_over_at_once_and_nothing_is_sent_twice() -> None:
    async with virtual_service(limits=SHORT) as first:
        second = VirtualService(beside=first, limits=SHORT)
        await second.start()
        await asyncio.sleep(30)
        await tenants(first, 40)
        await asyncio.sleep(0.5)
        await second.stop()
        assert second.dispatcher.drained
        took = await until_all_delivered(first, within=60)
        assert took < SHORT.lease
        assert copies(first) == {1: 40 * 40}


@virtually
async def test_after_a_crash_the_other_takes_over_when_the_lease_has_ended() -> None:
    async with virtual_service(limits=SHORT) as first:
        second = VirtualService(beside=first, limits=SHORT)
        await second.start()
        await asyncio.sleep(30)
        await tenants(first, 40)
        await asyncio.sleep(0.1)
        await second.crash()
        crashed_at, on_their_way = first.now(), first.sender.in_air
        took = await until_all_delivered(first, within=60)
        assert took < 2 * SHORT.lease
        again = sum(count - 1 for count in copies(first).elements())
        assert again <= on_their_way
        repeated = Counter[tuple[str, str]]()
        for one in first.sender.sent:
            repeated[one.host, one.message] += 1
            if repeated[one.host, one.message] > 1:
                assert one.at >= crashed_at + SHORT.lease * 2 / 3 - SHORT.margin


@virtually
async def test_a_zombie_sends_nothing_more_and_changes_nothing() -> None:
    between = Between(Shaky)
    async with virtual_service(limits=SHORT, through=between) as zombie:
        await tenants(zombie, 10, rate=2.0)  # it has something to send all the time
        await asyncio.sleep(3)
        between.shaky.stick()
        other = VirtualService(beside=zombie, limits=SHORT)
        await other.start()
        (until,) = {held.held.until for held in zombie.dispatcher.shards.owned.values()}
        await asyncio.sleep(until - 1 - zombie.now())
        sending = zombie.dispatcher.context.counters.sent
        await asyncio.sleep(until - zombie.now())
        sent = zombie.dispatcher.context.counters.sent
        assert sent > sending, "until the last moments of its leases it goes on"
        await asyncio.sleep(4 * SHORT.lease)
        assert zombie.dispatcher.context.counters.sent == sent
        assert await left(zombie) == 0
        before = {
            number: (lane.ended, lane.known)
            for number, lane in zombie.store._data.lanes.items()  # noqa: SLF001  all of them
        }
        attempts = sum(map(len, zombie.store._data.attempts.values()))  # noqa: SLF001  likewise
        between.shaky.free()
        await asyncio.sleep(3 * SHORT.lease)
        after = {
            number: (lane.ended, lane.known)
            for number, lane in zombie.store._data.lanes.items()  # noqa: SLF001  likewise
        }
        assert after == before
        assert sum(map(len, zombie.store._data.attempts.values())) == attempts  # noqa: SLF001
        assert zombie.dispatcher.context.counters.sent == sent
        assert max(copies(zombie)) <= 2
        counts = Counter[State]()
        for lane in zombie.store._data.lanes.values():  # noqa: SLF001  likewise
            counts.update(await zombie.store.counts(lane.number))
        assert counts == {State.DELIVERED: 400}
        await other.stop()
