"""FIFO endpoints: in order whatever happens."""

import asyncio

import pytest

from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.settings import Limits
from tarry.service.store.kinds import Endpoints, Notices
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    VirtualService,
    status,
    takes_all_but,
    virtual_service,
)
from tests.journeys.seeds import FIRST, seeded

QUICK = '{"version": 1, "attempts": 50, "within": 86400, "backoff": {"kind": "fixed", "delay": 2}}'


def firsts(service: VirtualService) -> list[str]:
    """The messages in the order in which the endpoint first took them."""
    taken = sorted(
        (one for one in service.sender.sent if one.answer.status == 200),
        key=lambda one: one.at + one.answer.took,
    )
    return list(dict.fromkeys(one.message for one in taken))


@pytest.mark.parametrize("seed", range(8))
@virtually
async def test_in_order_under_failures_crashes_and_hand_overs(seed: int) -> None:
    chance = seeded(seed)
    limits = Limits(lease=10, look=1, keep_up=60)
    async with virtual_service(seed=FIRST + seed, limits=limits) as service:
        outage = (0.0, 0.0)

        def script(_request: Request, now: float) -> Answer:
            if outage[0] <= now < outage[1] or chance.random() < 0.25:
                return chance.choice([DOWN, status(500), status(503, retry_after="3")])
            return Answer(chance.uniform(0.01, 3.0), status=200)

        endpoint = await service.add_endpoint("a.example", script, fifo=True, policy=QUICK)
        messages: list[str] = []
        for _ in range(12):
            messages += await service.add(chance.randint(0, 6))
            await asyncio.sleep(chance.uniform(0.5, 20))
            match chance.randint(0, 4):
                case 0:
                    await service.crash()
                    messages += await service.add(2)
                    await asyncio.sleep(chance.uniform(0, 15))
                    await service.start()
                case 1:
                    await service.stop()
                    await service.start()
                case 2:
                    outage = (service.now(), service.now() + 60)
                case _:
                    pass
        await service.until_delivered(endpoint, within=3600)
        assert firsts(service) == messages


@virtually
async def test_one_at_a_time_and_the_next_only_when_the_last_is_on_record() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, _n: Answer(0.1, status=200), fifo=True
        )
        messages = await service.add(50)
        took = await service.until_delivered(endpoint, within=30)
        assert service.sender.most_in_air == 1
        assert took == pytest.approx(5, rel=0.1)
        assert firsts(service) == messages


@pytest.mark.parametrize("blocking", [False, True])
@virtually
async def test_a_head_that_finally_fails_is_passed_over_or_blocks(blocking: bool) -> None:  # noqa: FBT001  a parameter
    async with virtual_service() as service:
        bad: list[str] = []
        script = takes_all_but(bad, status(422))
        endpoint = await service.add_endpoint("a.example", script, fifo=True, blocking=blocking)
        before, poison, after = await service.add(3)
        bad.append(poison)
        await asyncio.sleep(5)
        assert (await service.delivery(poison)).reason is Reason.REFUSED
        found = await service.store.get(Endpoints(service.application.id), endpoint.id)
        if not blocking:
            assert firsts(service) == [before, after]
            assert found.standing is Standing.ENABLED
            return
        assert found.standing is Standing.PAUSED
        assert firsts(service) == [before]
        kinds = {one.kind for one in await service.store.read(Notices())}
        assert kinds == {"endpoint.paused", "message.attempt.exhausted"}
        await service.change(endpoint, standing=Standing.ENABLED)
        await service.until_delivered(endpoint, within=10)
        assert firsts(service) == [before, after]


@virtually
async def test_a_head_in_backoff_holds_up_the_others_and_an_outage_costs_it_nothing() -> None:
    async with virtual_service() as service:
        began_at = service.now()
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, now: DOWN if now < began_at + 7200 else OK, fifo=True
        )
        messages = await service.add(20)
        await asyncio.sleep(7200)
        assert {one.message for one in service.sender.sent} == {messages[0]}
        assert (await service.delivery(messages[0])).attempts == 0
        await service.until_delivered(endpoint, within=120)
        assert firsts(service) == messages
        assert await service.counts(endpoint) == {State.DELIVERED: 20}


@virtually
async def test_a_new_owner_waits_out_what_a_lost_one_may_have_sent() -> None:
    async with virtual_service() as service:
        slow = Answer(14.0, status=200)
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: slow, fifo=True)
        await service.add(2)
        await asyncio.sleep(1)
        await service.crash()
        crashed_at = service.now()
        await service.start()
        await asyncio.sleep(60)
        again = service.sender.sent[1]
        assert again.at >= crashed_at - 1 + 14
        await service.until_delivered(endpoint, within=60)
        assert service.sender.most_in_air == 1
