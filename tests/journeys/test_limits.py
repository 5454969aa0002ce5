"""Rates, concurrency, and neighbours: nobody gets more than allowed, nobody less than fair."""

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest

from tarry.core.outcome import Kind
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import State
from tarry.service.model.lane import Change, Lease
from tarry.service.model.settings import Limits
from tarry.service.wire.exchange import Answer
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import OK, VirtualService, virtual_service

HANGS = Answer(15.0, failure=Kind.TIMEOUT, detail="no answer")


def most_in(seconds: float, instants: list[float]) -> int:
    return max(bisect_left(instants, at + seconds) - place for place, at in enumerate(instants))


@pytest.mark.parametrize("rate", [1.0, 7.0, 50.0])
@virtually
async def test_an_endpoint_gets_exactly_its_rate(rate: float) -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", rate=rate)
        count = int(20 * rate)
        for _ in range(10):
            await service.add(count // 10)
            await asyncio.sleep(0.3)
        took = 3 + await service.until_delivered(endpoint, within=60)
        assert took == pytest.approx(20, rel=0.07)
        instants = [sent.at for sent in service.sender.sent]
        assert most_in(1.0, instants) <= rate
        assert most_in(10.0, instants) <= 10 * rate


@virtually
async def test_a_rate_holds_for_single_messages_with_pauses_between_them() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", rate=1.0)
        for _ in range(40):
            await service.add()
            await asyncio.sleep(0.25)
        await asyncio.sleep(60)
        instants = [sent.at for sent in service.sender.sent]
        gaps = [later - at for at, later in pairwise(instants)]
        assert len(instants) == 40
        assert min(gaps) >= 0.99


@pytest.mark.parametrize("whose", ["endpoint", "application"])
@virtually
async def test_a_rate_holds_over_restarts(whose: str) -> None:
    async with virtual_service() as service:
        owner = await service.add_application(rate=0.5 if whose == "application" else None)
        rate = 0.5 if whose == "endpoint" else None
        endpoint = await service.add_endpoint("a.example", application=owner, rate=rate)
        await service.add(10, owner)
        for _ in range(8):
            await asyncio.sleep(3)
            await service.stop()
            await service.start()
        await service.until_delivered(endpoint, within=60)
        instants = [sent.at for sent in service.sender.sent]
        assert min(later - at for at, later in pairwise(instants)) >= 1.99


@virtually
async def test_an_application_has_a_rate_for_all_its_endpoints() -> None:
    async with virtual_service() as service:
        owner = await service.add_application(rate=20.0)
        endpoints = [
            await service.add_endpoint(f"{name}.example", application=owner) for name in "abcd"
        ]
        await service.add(50, owner)
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=60)
        instants = [sent.at for sent in service.sender.sent]
        assert instants[-1] - instants[0] == pytest.approx(10, rel=0.05)
        assert most_in(1.0 - 0.003, instants) <= 21
        half = Counter(sent.host for sent in service.sender.sent[:100])
        assert min(half.values()) >= 23


@virtually
async def test_a_changed_rate_counts_from_then_on() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", rate=2.0)
        await service.add(120)
        await asyncio.sleep(10)
        sent = len(service.sender.sent)
        assert 19 <= sent <= 22
        await service.change(endpoint, rate=10.0)
        assert await service.until_delivered(endpoint, within=20) == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("concurrency", [1, 3])
@virtually
async def test_no_more_are_on_their_way_than_the_endpoint_wants(concurrency: int) -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, _n: Answer(0.5, status=200), concurrency=concurrency
        )
        await service.add(30)
        took = await service.until_delivered(endpoint, within=60)
        assert service.sender.most_in_air == concurrency
        assert took == pytest.approx(15 / concurrency, rel=0.1)


async def healthy_waits(service: VirtualService, seconds: int) -> list[float]:
    """How long a healthy endpoint's messages wait, one every tenth of a second."""
    application = await service.add_application()
    await service.add_endpoint("well.example", application=application)
    accepted: dict[str, float] = {}
    for _ in range(10 * seconds):
        (message,) = await service.add(1, application)
        accepted[message] = service.now()
        await asyncio.sleep(0.1)
    await asyncio.sleep(1)
    return sorted(
        sent.at - accepted[sent.message]
        for sent in service.sender.sent
        if sent.host == "well.example"
    )


@virtually
async def test_one_that_hangs_and_one_with_a_huge_backlog_slow_nobody_down() -> None:
    async with virtual_service(limits=Limits(in_flight=64)) as service:
        hanging, huge = await service.add_application(), await service.add_application()
        await service.add_endpoint("hangs.example", lambda _r, _n: HANGS, application=hanging)
        await service.add_endpoint(
            "huge.example", lambda _r, _n: Answer(0.2, status=200), application=huge
        )
        await service.add(2000, hanging)
        await service.add(20_000, huge)
        waits = await healthy_waits(service, 30)
        assert len(waits) == 300
        assert max(waits) < 0.05


@virtually
async def test_scarce_slots_are_shared_between_tenants_not_between_lanes() -> None:
    async with virtual_service(limits=Limits(in_flight=30)) as service:
        tenants = [await service.add_application() for _ in range(3)]
        for number, tenant in enumerate(tenants):
            for lane in range(1 if number == 0 else 5):
                await service.add_endpoint(
                    f"t{number}-{lane}.example",
                    lambda _r, _n: Answer(0.1, status=200),
                    application=tenant,
                )
            await service.add(3000, tenant)
        await asyncio.sleep(20)
        sent = Counter(one.host.partition("-")[0] for one in service.sender.sent)
        assert max(sent.values()) < 2 * min(sent.values())


@virtually
async def test_many_tenants_with_few_slots_all_get_through() -> None:
    async with virtual_service(limits=Limits(in_flight=4)) as service:
        tenants = [await service.add_application() for _ in range(50)]
        endpoints = [
            await service.add_endpoint(f"t{number}.example", application=tenant)
            for number, tenant in enumerate(tenants)
        ]
        for tenant in tenants:
            await service.add(5, tenant)
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=60)
        assert service.dispatcher.context.slots.free == 4


@virtually
async def test_payloads_in_memory_are_bounded_and_all_get_through() -> None:
    limits = Limits(buffered_bytes=200_000)
    async with virtual_service(limits=limits) as service:
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, _n: Answer(0.05, status=200), concurrency=4
        )
        other = await service.add_endpoint("b.example", concurrency=2)
        await service.add(300, payload=b"x" * 30_000)
        await service.add(20, payload=b"y" * 300_000)
        most = 0
        while await service.waiting(endpoint) or await service.waiting(other):
            most = max(most, service.dispatcher.context.buffered.bytes)
            await asyncio.sleep(0.02)
        assert await service.counts(endpoint) == {State.DELIVERED: 320}
        assert most < 2_000_000
        assert service.dispatcher.context.buffered.bytes == 0


@virtually
async def test_answers_that_cannot_be_written_down_stop_all_and_then_all_go_on() -> None:
    between = Between(Shaky)
    limits = Limits(in_flight=50, unsettled=50)
    async with virtual_service(limits=limits, through=between) as service:
        endpoints = [
            await service.add_endpoint(f"{name}.example", lambda _r, _n: OK) for name in "abc"
        ]
        await service.add(300)
        await asyncio.sleep(0.03)  # until more rows are at hand than may be sent
        between.shaky.away = True
        await asyncio.sleep(5)
        assert service.dispatcher.work.unsettled == 50
        stopped = len(service.sender.sent)
        await asyncio.sleep(2)
        assert len(service.sender.sent) == stopped
        between.shaky.away = False
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=60)
        sent = Counter((one.host, one.message) for one in service.sender.sent)
        assert set(sent.values()) == {1}


class SlowWrites(Shaky):
    """Takes three seconds to write outcomes."""

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        await asyncio.sleep(3)
        return await self._store.settle(settlements, changes, leases)


@pytest.mark.parametrize("tenants", [1, 3])
@virtually
async def test_tenants_whose_outcomes_pile_up_hold_up_no_neighbour(tenants: int) -> None:
    limits = Limits(in_flight=20, unsettled=40)
    async with virtual_service(limits=limits, through=Between(SlowWrites)) as service:
        piling_up = []
        for number in range(tenants):
            greedy = await service.add_application()
            piling_up.append(await service.add_endpoint(f"a{number}.example", application=greedy))
            await service.add_endpoint(f"b{number}.example", application=greedy)
            await service.add(500, application=greedy)
        neighbour = await service.add_application()
        await service.add_endpoint("n.example", application=neighbour)
        most, added_at = 0, []
        for _ in range(8):
            added_at.append(service.now())
            await service.add(application=neighbour)
            for _ in range(73):  # until its outcome is written
                await asyncio.sleep(0.1)
                in_flight = limits.in_flight - service.dispatcher.context.slots.free
                most = max(most, service.dispatcher.work.unsettled + in_flight)
        sent_at = [sent.at for sent in service.sender.sent if sent.host == "n.example"]
        assert sent_at == pytest.approx(added_at, abs=0.1)
        assert limits.unsettled / 2 <= most <= limits.in_flight + limits.unsettled
        assert await service.waiting(piling_up[-1])
