"""A lane at work: what it sends, and when."""

import asyncio
import math

import pytest

from tarry.core.outcome import Kind
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.settings import HOUR
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import new_message
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, Script, VirtualService, status, virtual_service


def lane_of(service: VirtualService, endpoint: Endpoint) -> Lane:
    held = service.dispatcher.shards.held[service.application.shard]
    return held.lanes[endpoint.lane]


def lanes_at_work(service: VirtualService) -> int:
    return sum(len(held.lanes) for held in service.dispatcher.shards.held.values())


def always(answer: Answer) -> Script:
    return lambda _request, _now: answer


@virtually
async def test_a_lane_with_nothing_to_do_leaves_memory() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(10)
        await service.until_delivered(endpoint, within=5)
        await asyncio.sleep(1)
        assert lanes_at_work(service) == 0
        await service.add()
        assert await service.until_delivered(endpoint, within=5) < 0.2


@virtually
async def test_a_lane_stays_as_long_as_its_rate_or_a_hold_is_to_be_remembered() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", rate=0.1)
        await asyncio.sleep(10)  # nobody who had the lane before can have sent just now
        await service.add()
        await asyncio.sleep(5)
        assert lanes_at_work(service) == 1
        await asyncio.sleep(10)
        assert lanes_at_work(service) == 0


@virtually
async def test_a_delivery_says_why_it_waits() -> None:
    async with virtual_service() as service:
        answers = {"a": status(500), "b": DOWN, "c": status(429, retry_after="600")}
        for name, answer in answers.items():
            await service.add_endpoint(f"{name}.example", always(answer))
        first, *_ = await service.add(6)
        await asyncio.sleep(5)
        reasons = {
            endpoint.url: delivery.reason
            for endpoint, delivery in await service.store.deliveries(first)
        }
        assert reasons["https://b.example/in"] is Reason.LANE_OPEN
        assert reasons["https://c.example/in"] is Reason.RETRY_AFTER


@virtually
async def test_nothing_is_sent_in_the_last_moments_of_a_lease_and_then_it_goes_on() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: Answer(1.0, status=200))
        await service.add(100)
        await asyncio.sleep(0.5)
        held = service.dispatcher.shards.held[service.application.shard]
        held.until = service.now()
        sent = len(service.sender.sent)
        await asyncio.sleep(1)
        assert len(service.sender.sent) == sent
        assert held.overslept
        await service.until_delivered(endpoint, within=60)


@virtually
async def test_a_lane_that_left_sends_nothing_and_says_nothing() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: Answer(1.0, status=200))
        await service.add(100)
        await asyncio.sleep(0.5)
        lane = lane_of(service, endpoint)
        lane.leave()
        sent = len(service.sender.sent)
        lane.pump()
        await asyncio.sleep(5)
        assert len(service.sender.sent) == sent
        assert not lane.at_work
        assert service.dispatcher.context.buffered.bytes == 0


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
async def test_neither_a_lane_nor_its_parts_have_room_for_more_than_they_need() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", always(DOWN))
        await service.add(10)
        await asyncio.sleep(60)
        lane = lane_of(service, endpoint)
        parts = (lane, lane.buffer, lane.doubts, lane.gate, lane.record, lane.origin, lane.rate)
        assert not any(hasattr(part, "__dict__") for part in parts)
        assert lane.endpoint.secrets == ()


@virtually
async def test_whatever_stops_it_a_lane_says_when_it_may_send_again() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _r, _n: DOWN)
        await service.add(10)
        await asyncio.sleep(HOUR)
        lane, now = lane_of(service, endpoint), service.now()
        assert now < lane.free_at(now) < math.inf
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
async def test_a_message_is_sent_as_what_it_is() -> None:
    kinds: list[str] = []

    def answers(request: Request, _now: float) -> Answer:
        kinds.append(dict(request.target.headers).get("content-type", ""))
        return OK

    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", answers)
        told = [None, "text/xml", None]
        await service.store.add([new_message(service.application, content_type=t) for t in told])
        await service.until_delivered(endpoint, within=5)
        assert sorted(kinds) == ["", "", "text/xml"]


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
