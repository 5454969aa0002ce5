"""What a lane sends, and when."""

import asyncio
import math

import pytest

from tarry.core.outcome import Kind
from tarry.service.dispatch.lane.sending import next_send_at
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.settings import HOUR
from tarry.service.wire.exchange import Answer
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    Script,
    status,
    virtual_service,
)
from tests.service.dispatch.lane.test_lane import lane_of


def always(answer: Answer) -> Script:
    return lambda _request, _now: answer


@virtually
async def test_nothing_is_sent_in_the_last_moments_of_a_lease_and_then_it_goes_on() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: Answer(1.0, status=200))
        await service.add(100)
        await asyncio.sleep(0.5)
        held = service.dispatcher.shards.owned[service.application.shard]
        held.held.renew(service.now())
        sent = len(service.sender.sent)
        await asyncio.sleep(1)
        assert len(service.sender.sent) == sent
        assert held.held.end_delay()
        held.held.delay()
        await service.until_delivered(endpoint, within=60)


@pytest.mark.slow
@virtually
async def test_a_lane_that_is_down_keeps_no_payloads_at_hand() -> None:
    async with virtual_service() as service:
        until = service.now() + HOUR
        endpoint = await service.add_endpoint(
            "a.example", lambda _r, now: DOWN if now < until else OK
        )
        await service.add(1000)
        await asyncio.sleep(HOUR / 2)
        assert service.dispatcher.context.buffered.bytes == 0
        assert len(service.sender.sent) > 20  # it was probed all the same
        await service.until_delivered(endpoint, within=HOUR)


@virtually
async def test_lanes_behind_a_gateway_that_is_down_keep_one_at_hand_at_the_most() -> None:
    async with virtual_service() as service:
        for number in range(20):
            await service.add_endpoint("gw.example", always(DOWN), path=f"/{number}")
        message, *_ = await service.add(50)
        found = await service.store.message(service.application.id, message)
        await asyncio.sleep(HOUR / 2)
        assert service.dispatcher.context.buffered.bytes <= 20 * len(found.payload or b"")


@virtually
async def test_whatever_stops_it_a_lane_says_when_it_may_send_again() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: DOWN)
        await service.add(10)
        await asyncio.sleep(HOUR)
        lane, now = lane_of(service, endpoint), service.now()
        assert now < next_send_at(lane, lane.gates.current, now) < math.inf
        assert lane.waiting() == 10


@virtually
async def test_a_message_that_cannot_be_signed_is_its_own_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        (poison,) = await service.add(id="msg_é")
        (fine,) = await service.add()
        await asyncio.sleep(5)
        assert (await service.delivery(fine)).state is State.DELIVERED
        assert (await service.delivery(poison)).state is State.WAITING
        attempt, *_ = await service.store.attempts(poison)
        assert attempt.kind == Kind.REFUSED
        assert attempt.detail.startswith("it cannot be signed: ")
        assert "'msg_é' cannot be signed" in caplog.text
        await service.store.cancel(endpoint.application, poison, now=service.now())


@virtually
async def test_rows_behind_a_head_that_waits_keep_nobody_busy() -> None:
    between = Between(Shaky)
    async with virtual_service(through=between) as service:
        answers = iter([status(500), *[OK] * 20])
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: next(answers), fifo=True)
        await service.add(20)
        await asyncio.sleep(1)
        before = between.shaky.calls
        await asyncio.sleep(5)
        assert between.shaky.calls - before < 60
        await service.until_delivered(endpoint, within=30)


@virtually
async def test_a_delivery_whose_payload_is_gone_ends_and_keeps_no_slot() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        (message,) = await service.add()
        await service.store.expunge(service.application.id, message)
        free = service.dispatcher.context.slots.free
        await service.change(endpoint, standing=Standing.ENABLED)
        await asyncio.sleep(1)
        delivery = await service.delivery(message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.EXPUNGED)
        assert service.dispatcher.context.slots.free == free


@virtually
async def test_a_resend_of_a_payload_that_is_gone_ends_and_keeps_no_slot() -> None:
    async with virtual_service() as service:
        (message,) = await service.add()
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.store.resend(endpoint, message, resend="r1")
        await service.store.expunge(service.application.id, message)
        free = service.dispatcher.context.slots.free
        await service.change(endpoint, standing=Standing.ENABLED)
        await asyncio.sleep(1)
        delivery = await service.delivery(message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.EXPUNGED)
        assert service.dispatcher.context.slots.free == free
