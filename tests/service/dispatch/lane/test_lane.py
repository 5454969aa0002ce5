"""A lane: what it is made of, and when it leaves."""

import asyncio
import math
from typing import Any

import pytest
from msgspec.structs import replace

from tarry.core.pace import Pace, Phase
from tarry.service.dispatch.lane.allowance import FIRST
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.limits.gate import read_pace, write_pace
from tarry.service.dispatch.ownership.lane_loader import DRIVER
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import LaneRow
from tarry.service.model.settings import HOUR, Limits
from tarry.service.store.kinds import Lanes
from tarry.service.wire.exchange import TIMEOUT, Answer
from tarry.service.wire.seal import Place
from tarry.testing.samples import an_application
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, Script, VirtualService, status, virtual_service
from tests.service.dispatch.lane.hand_moved import LanePlace


def lane_of(service: VirtualService, endpoint: Endpoint) -> Lane:
    held = service.dispatcher.shards.owned[service.application.shard]
    return held.lanes[endpoint.lane]


def lanes_at_work(service: VirtualService) -> int:
    return sum(len(held.lanes) for held in service.dispatcher.shards.owned.values())


def always(answer: Answer) -> Script:
    return lambda _request, _now: answer


async def a_lane(service: VirtualService, **values: Any) -> Lane:  # noqa: ANN401  the endpoint's
    """Return a lane that waits for the due time of a delivery."""
    endpoint = await service.add_endpoint("a.example", **values)
    await service.add(deliver_at=service.now() + HOUR)
    await asyncio.sleep(1)
    return lane_of(service, endpoint)


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
        lane.save(service.now())
        assert not service.dispatcher.work.changes
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
        assert (kept.created_at, kept.updated_at) == (0.0, 0.0)


@virtually
async def test_an_endpoint_that_moved_has_no_failures_on_record_before_its_first_answer() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("old.example", always(DOWN))
        service.sender.scripts["new.example"] = always(Answer(10.0, status=200))
        await service.add(3)
        await asyncio.sleep(60)
        before = await service.store.get(Lanes(endpoint.application), endpoint.id)
        await service.move(endpoint, "https://new.example/in")
        await asyncio.sleep(5)
        after = await service.store.get(Lanes(endpoint.application), endpoint.id)
        assert before.known.failures > 0
        assert after.known.failures == 0
        assert after.known.origin == "https://new.example:443"


# --- What a new owner takes over ----------------------------------------------------------------


async def next_owner(service: VirtualService, lane: Lane, **known: Any) -> Lane:  # noqa: ANN401  its fields
    """Return a lane as another owner loads it that finds this on record."""
    row = await service.store.get(Lanes(lane.tenant), lane.endpoint.id)
    return Lane(
        replace(row, known=replace(row.known, **{"origin": lane.config.origin, **known})),
        lane.config,
        context=lane.context,
        work=lane.work,
        held=lane.held,
        group=lane.gates.group,
        tenant_rate=lane.tenant_rate,
        driver=DRIVER,
    )


@virtually
async def test_a_new_owner_counts_on_from_the_failures_on_record_and_opens_at_five() -> None:
    async with virtual_service() as service:
        lane = await a_lane(service)
        four = await next_owner(service, lane, failures=4)
        assert (four.gate.phase, four.gate.pace.streak) == ("closed", 4)
        assert four.allowance.failures_in_a_row == 4
        five = await next_owner(service, lane, failures=5)
        assert five.gate.phase is Phase.OPEN
        none = await next_owner(service, lane)
        assert (none.gate.phase, none.allowance.failures_in_a_row) == (Phase.CLOSED, 0)


@virtually
async def test_what_is_on_record_of_another_origin_does_not_count() -> None:
    async with virtual_service() as service:
        lane = await a_lane(service)
        pace = write_pace(Pace(capacity=40.0))
        moved = await next_owner(service, lane, failures=5, pace=pace, origin="https://b.example")
        assert (moved.gate.phase, moved.allowance.failures_in_a_row) == (Phase.CLOSED, 0)
        assert moved.gate.pace.capacity is None
        stayed = await next_owner(service, lane, pace=pace)
        assert stayed.gate.pace.capacity == 40.0


@pytest.mark.parametrize("phase", [Phase.PACED, Phase.CLOSED])
@virtually
async def test_a_new_owner_goes_on_at_the_pace_on_record(phase: Phase) -> None:
    async with virtual_service() as service:
        lane = await a_lane(service)
        pace = Pace(phase=phase, rate=10.0 if phase is Phase.PACED else math.inf)
        again = await next_owner(service, lane, pace=write_pace(pace))
        assert again.gate.phase is phase
        paced = phase is Phase.PACED
        assert (again in service.dispatcher.work.ticking) is paced
        assert again.backlog.marks_fresh is paced  # new deliveries do not wait for the backlog
        service.dispatcher.work.stop_ticking(again)


@virtually
async def test_a_new_owner_leaves_the_pace_to_an_origin_that_is_down() -> None:
    async with virtual_service() as service:
        lane = await a_lane(service)
        lane.gates.group.open(service.now())
        again = await next_owner(service, lane, failures=5)
        assert again.gate.phase is Phase.CLOSED
        assert again.gates.current is lane.gates.shared


@virtually
async def test_a_lane_that_leaves_the_pace_to_its_origin_has_none_of_its_own_on_record() -> None:
    async with virtual_service() as service:
        lane, work = await a_lane(service), service.dispatcher.work
        lane.join_origin(service.now())
        assert not work.changes  # it had no pace
        lane.open_alone(service.now())
        await asyncio.sleep(0.1)
        phases = []
        for _ in range(2):
            row = await service.store.get(Lanes(lane.tenant), lane.endpoint.id)
            phases.append(read_pace(row.known.pace, now=service.now()).phase)
            lane.join_origin(service.now())
            await asyncio.sleep(0.1)
        assert phases == [Phase.OPEN, Phase.CLOSED]


@virtually
async def test_only_an_ordered_lane_of_an_owner_that_was_lost_waits_for_its_requests() -> None:
    async with virtual_service() as service:
        await service.crash()
        await asyncio.sleep(60)
        await service.start()
        lanes = [await a_lane(service, fifo=fifo) for fifo in (True, False)]
        now = service.now()
        assert [lane.waits_for_last_owner(now) for lane in lanes] == [True, False]
        assert not lanes[0].waits_for_last_owner(now + TIMEOUT)


# --- Its parts ----------------------------------------------------------------------------------


@virtually
async def test_a_lane_is_quiet_when_nothing_is_in_flight_or_waits_to_be_written() -> None:
    async with virtual_service() as service:
        lane = await a_lane(service)
        quiet = [lane.is_quiet]
        lane.allowance.sent(service.now())
        quiet.append(lane.is_quiet)
        lane.context.unwritten.take_anyway(lane)
        lane.begin_outcome()
        lane.allowance.ended()
        quiet.append(lane.is_quiet)
        lane.set_aside()  # it may never be written
        quiet.append(lane.is_quiet)
        lane.count_handed_in_again()
        quiet.append(lane.is_quiet)
        lane.count_written()
        quiet.append(lane.is_quiet)
        assert quiet == [True, False, False, True, False, True]


@virtually
async def test_a_lane_sends_no_more_at_once_than_its_owner_and_the_service_allow() -> None:
    async with virtual_service(limits=Limits(lane_in_flight=5)) as service:
        most = {
            concurrency: (await a_lane(service, concurrency=concurrency)).allowance.most
            for concurrency in (None, 3, 100)
        }
        assert most == {None: 5, 3: 3, 100: 5}
        assert (await a_lane(service, fifo=True)).allowance.most == 1


@virtually
async def test_a_lane_that_leaves_is_on_no_list_any_more() -> None:
    async with virtual_service() as service:
        lane = await a_lane(service)
        work, group = service.dispatcher.work, lane.gates.group
        lane.ask_for_rows()
        work.tick(lane)
        work.let_rest(lane)
        lane.leave()
        assert not ({lane} & {*work.need_rows, *work.ticking, *work.resting})
        assert lane.number not in group.lanes
        assert lane.wake_at == math.inf


@virtually
async def test_a_lane_that_moves_forgets_what_the_old_place_has_shown() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("old.example", always(status(401)))
        service.sender.scripts["new.example"] = always(Answer(10.0, status=200))
        await service.add(3)
        await asyncio.sleep(1)
        lane = lane_of(service, endpoint)
        assert lane.refusals
        assert lane.allowance.failures_in_a_row
        lane.open_alone(service.now(), 40.0)
        await service.move(endpoint, "https://new.example/in")
        await asyncio.sleep(5)
        assert lane_of(service, endpoint) is lane
        assert (lane.refusals, lane.allowance.failures_in_a_row) == (0, 0)
        assert lane.allowance.trust == FIRST
        assert (lane.gate.phase, lane.gate.pace.capacity) == (Phase.CLOSED, None)


@pytest.mark.parametrize("limit", ["rate", "hold", "both"])
def test_a_lane_may_leave_once_neither_its_rate_nor_a_hold_has_to_be_remembered(
    limit: str,
) -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"), rate=None if limit == "hold" else 0.1)
    place.read(lane)
    if limit != "hold":
        lane.allowance.rate.sent(place.now)
    if limit != "rate":
        lane.gate.hold(place.now + 9.0)
    assert not lane.may_leave(place.now)
    free_at = lane.wake_at
    assert place.now + 9 <= free_at <= place.now + 11  # it looks again at the right time
    assert not lane.may_leave(free_at - 0.1)
    assert lane.may_leave(free_at)


def test_a_lane_that_leaves_does_not_wait_for_the_rate_of_its_application_any_more() -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"))
    rate = lane.tenant_rate
    rate.limit(1.0)
    rate.sent(place.now)
    assert not rate.admits(lane, place.now)
    assert not rate.idle(place.now + 5)
    lane.leave()
    assert rate.idle(place.now + 5)


@pytest.mark.parametrize("stopped", [Standing.PAUSED, Standing.DISABLED])
def test_only_a_row_from_after_its_endpoint_was_stopped_enables_a_lane_again(
    stopped: Standing,
) -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"))
    enabled, version = lane.endpoint, lane.version
    lane.set_standing(stopped, "its first delivery failed", place.now)
    found = {}
    for newer in (-1, 0, 1):
        row = LaneRow(
            endpoint=enabled,
            application=an_application(id=lane.tenant),
            version=version + newer,
        )
        lane.change(row, lane.config, lane.tenant_rate)
        found[newer] = lane.endpoint.standing
    assert found == {-1: stopped, 0: stopped, 1: Standing.ENABLED}


def test_a_row_enables_a_lane_whose_stop_a_failover_has_lost() -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"))
    row = LaneRow(
        endpoint=lane.endpoint, application=an_application(id=lane.tenant), version=lane.version
    )
    lane.set_standing(Standing.PAUSED, "its first delivery failed", place.now)
    lane.start_over()  # the store may have lost its last commits
    lane.change(row, lane.config, lane.tenant_rate)
    assert lane.endpoint.standing is Standing.ENABLED
