"""Once an outcome is written the delivery has ended, or goes again."""

import asyncio

import pytest

from tarry.service.dispatch.lane.lane import Lane
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import ENDED, State
from tarry.service.model.lane import Due
from tarry.service.model.settings import Limits
from tarry.service.wire.exchange import Answer
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    status,
    takes_all_but,
    virtual_service,
)
from tests.service.dispatch.lane.test_lane import lanes_at_work


@pytest.mark.parametrize("fifo", [False, True])
@virtually
async def test_turning_order_on_and_off_loses_count_of_nothing(fifo: bool) -> None:  # noqa: FBT001  a parameter
    async with virtual_service() as service:
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, _n: Answer(0.3, status=200), fifo=fifo
        )
        await service.add(60)
        for step in range(6):
            await asyncio.sleep(0.35)
            await service.change(endpoint, fifo=bool(step % 2) ^ (not fifo))
        await service.until_delivered(endpoint, within=60)
        await asyncio.sleep(1)
        assert service.dispatcher.context.slots.free == Limits().in_flight
        assert lanes_at_work(service) == 0
        assert len(service.sender.sent) == 60


@virtually
async def test_only_what_came_to_nothing_is_told_one_by_one() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "attempts": 1, "backoff": {"kind": "fixed", "delay": 1}}'
        poison: list[str] = []
        await service.add_endpoint("a.example", takes_all_but(poison, status(500)), policy=policy)
        poison += await service.add(2)
        await service.add(5)
        await asyncio.sleep(10)
        notices = await service.store.notices()
        assert {notice.facts["message"] for notice in notices} == set(poison)
        assert (await service.delivery(poison[0])).state is State.FAILED


@pytest.mark.parametrize("fifo", [False, True])
@virtually
async def test_a_payload_is_kept_only_if_it_is_sent_again_from_memory(
    fifo: bool,  # noqa: FBT001  a parameter
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with virtual_service() as service:
        work = service.dispatcher.work
        kept: list[tuple[bool, bool]] = []

        def finish(lane: Lane, due: Due, made: Settlement | Resent) -> None:
            over = isinstance(made, Settlement) and made.state in ENDED
            kept.append((over, due.payload is not None))
            type(work).finish(work, lane, due, made)

        monkeypatch.setattr(work, "finish", finish)
        until = service.now() + 1
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, now: DOWN if now < until else OK, fifo=fifo
        )
        await service.add(4)
        await service.until_delivered(endpoint, within=120)
        assert {payload for over, payload in kept if over} == {False}
        assert {payload for over, payload in kept if not over} == {fifo}
