"""An endpoint comes back with much waiting: it is neither broken again nor kept waiting."""

import asyncio
from bisect import bisect_left

import pytest

from tarry.service.model.delivery import State
from tarry.service.wire.exchange import Answer, Request
from tarry.sim.backlog.endpoint import Capacity, Endpoint, Manner
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, VirtualService, virtual_service
from tests.journeys.seeds import seeded

CAPACITY = 200.0
OUTAGE = 600.0


class Fragile:
    """An endpoint with a capacity, which is down for ten minutes from an instant on."""

    def __init__(self, service: VirtualService, manner: Manner) -> None:
        draw = seeded(5).random
        self._model = Endpoint(manner, Capacity(steps=((0.0, CAPACITY),)), draw)
        self._service = service
        self.down_from = self.back_at = service.now()

    def goes_down(self) -> None:
        self.down_from = self._service.now()
        self.back_at = self.down_from + OUTAGE

    def __call__(self, _request: Request, now: float) -> Answer:
        if self.down_from <= now < self.back_at:
            return DOWN
        taken = self._model.accepts(now, 1)
        return Answer(0.05, status=200 if taken else 503)


def peak(instants: list[float]) -> int:
    """The most in any second."""
    return max(bisect_left(instants, at + 1) - place for place, at in enumerate(instants))


@pytest.mark.parametrize("manner", ["brittle", "degrade", "shed"])
@virtually
async def test_ten_thousand_waiting_arrive_as_fast_as_the_endpoint_can_and_no_faster(
    manner: Manner,
) -> None:
    async with virtual_service() as service:
        fragile, count = Fragile(service, manner), 10_000
        endpoint = await service.add_endpoint("a.example", fragile)
        for learning in (True, False):
            fragile.goes_down()
            for _ in range(10):
                await service.add(count // 10)
                await asyncio.sleep(OUTAGE / 10)
            down = [sent.at for sent in service.sender.sent if sent.at >= fragile.down_from]
            assert len(down) <= max(20, 0.03 * count) + 8
            took = await service.until_delivered(endpoint, within=300)
            assert took <= 1.25 * count / CAPACITY
            after = [sent.at for sent in service.sender.sent if sent.at >= fragile.back_at]
            if not learning:
                assert peak(after) <= 1.2 * CAPACITY
            await asyncio.sleep(60)
        assert await service.counts(endpoint) == {State.DELIVERED: 2 * count}


@pytest.mark.parametrize("share", [0.15, 0.3, 0.5])
@virtually
async def test_what_always_fails_does_not_keep_the_rest_of_a_backlog_waiting(share: float) -> None:
    async with virtual_service() as service:
        fragile, count = Fragile(service, "brittle"), 4000
        chance = seeded(6)
        poison: dict[str, bool] = {}
        taken: set[str] = set()

        def some_always_fail(request: Request, now: float) -> Answer:
            answer = fragile(request, now)
            message = dict(request.headers)["webhook-id"]
            if poison.setdefault(message, chance.random() < share) and answer.status == 200:
                return Answer(0.05, status=500)
            if answer.status == 200:
                taken.add(message)
            return answer

        await service.add_endpoint("a.example", some_always_fail)
        fragile.goes_down()
        await service.add(count)
        await asyncio.sleep(OUTAGE)
        while len(taken) + sum(poison.values()) < count:
            await asyncio.sleep(0.5)
            assert service.now() - fragile.back_at < 2 * count / CAPACITY + 60
        after = [sent.at for sent in service.sender.sent if sent.at >= fragile.back_at]
        assert peak(after) <= 1.3 * CAPACITY


@virtually
async def test_fresh_messages_go_first_but_not_alone() -> None:
    async with virtual_service() as service:
        fragile, count = Fragile(service, "shed"), 6000
        endpoint = await service.add_endpoint("a.example", fragile)
        fragile.goes_down()
        await service.add(count)
        await asyncio.sleep(OUTAGE + 5)
        for _ in range(60):
            await asyncio.sleep(0.5)
            if (await service.counts(endpoint)).get(State.DELIVERED, 0) > 50:
                break
        fresh: dict[str, float] = {}
        for _ in range(100):
            at = service.now()
            fresh.update(dict.fromkeys(await service.add(6), at))
            await asyncio.sleep(0.1)
        await service.until_delivered(endpoint, within=200)
        taken = [one for one in service.sender.sent if one.answer.status == 200]
        waited = sorted(one.at - fresh[one.message] for one in taken if one.message in fresh)
        assert waited[len(waited) // 2] < 1
        busy = [one for one in taken if min(fresh.values()) < one.at < max(fresh.values())]
        share = sum(one.message in fresh for one in busy) / len(busy)
        assert share <= 0.52


@virtually
async def test_a_restart_keeps_the_capacity_that_was_learned() -> None:
    async with virtual_service() as service:
        fragile, count = Fragile(service, "brittle"), 3000
        endpoint = await service.add_endpoint("a.example", fragile)
        for restarted in (False, True):
            if restarted:
                await service.stop()
                await service.start()
            fragile.goes_down()
            await service.add(count)
            await asyncio.sleep(OUTAGE)
            await service.until_delivered(endpoint, within=300)
        after = [sent.at for sent in service.sender.sent if sent.at >= fragile.back_at]
        assert peak(after) <= 1.2 * CAPACITY
        broken = [
            sent
            for sent in service.sender.sent
            if sent.at >= fragile.back_at and sent.answer.status == 503
        ]
        assert len(broken) <= 0.05 * count
