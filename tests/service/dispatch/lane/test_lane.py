"""A lane: what it is made of, and when it leaves."""

import asyncio

from tarry.service.dispatch.lane.lane import Lane
from tarry.service.model.endpoint import Endpoint
from tarry.service.wire.exchange import TIMEOUT, Answer
from tarry.service.wire.seal import Place
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, Script, VirtualService, virtual_service


def lane_of(service: VirtualService, endpoint: Endpoint) -> Lane:
    held = service.dispatcher.shards.owned[service.application.shard]
    return held.lanes[endpoint.lane]


def lanes_at_work(service: VirtualService) -> int:
    return sum(len(held.lanes) for held in service.dispatcher.shards.owned.values())


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
async def test_an_ordered_lane_waits_once_for_what_an_owner_that_crashed_left_behind() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", fifo=True)
        await service.crash()
        await service.add()
        await asyncio.sleep(60)
        await service.start()
        assert TIMEOUT - 1 < await service.until_delivered(endpoint, within=30) < TIMEOUT + 1
        await asyncio.sleep(60)
        assert lanes_at_work(service) == 0
        await service.add()
        assert await service.until_delivered(endpoint, within=30) < 0.2


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
        assert not lane.is_at_work
        assert service.dispatcher.context.buffered.bytes == 0


@virtually
async def test_neither_a_lane_nor_its_parts_have_room_for_more_than_they_need() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", always(DOWN))
        await service.add(10)
        await asyncio.sleep(60)
        lane = lane_of(service, endpoint)
        parts = (
            *(lane, lane.allowance, lane.backlog, lane.backlog.buffer, lane.blame, lane.gates),
            *(lane.gates.own, lane.gates.group, lane.record, lane.allowance.rate),
        )
        assert not any(hasattr(part, "__dict__") for part in parts)
        assert lane.endpoint.secrets == ()


@virtually
async def test_a_lane_keeps_neither_secrets_nor_what_only_people_read() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint(
            "a.example", always(DOWN), metadata={"a": "b"}, description="for orders"
        )
        place = Place(endpoint.application, endpoint.id, "headers")
        await service.change(endpoint, headers=service.seals.seal(b'[["x-key", "secret"]]', place))
        await service.add()
        await asyncio.sleep(1)
        kept = lane_of(service, endpoint).endpoint
        assert (kept.secrets, kept.headers) == ((), None)
        assert (kept.metadata, kept.description) == ({}, "")


@virtually
async def test_an_endpoint_that_moved_has_no_failures_on_record_before_its_first_answer() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("old.example", always(DOWN))
        service.sender.scripts["new.example"] = always(Answer(10.0, status=200))
        await service.add(3)
        await asyncio.sleep(60)
        before = await service.store.lane(endpoint.application, endpoint.id)
        await service.move(endpoint, "https://new.example/in")
        await asyncio.sleep(5)
        after = await service.store.lane(endpoint.application, endpoint.id)
        assert before.known.failures > 0
        assert after.known.failures == 0
        assert after.known.origin == "https://new.example:443"
