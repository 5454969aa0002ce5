"""A lane moves with its gate: attempts are given back, and what waits goes at a pace."""

import asyncio

from tarry.core.pace import Phase
from tarry.service.dispatch.lane.phases import (
    origin_changed,
    pace_backlog,
    probe,
    release,
    use_own_gate,
)
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.explain import outlook
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tarry.service.model.settings import HOUR
from tarry.service.store.kinds import Lanes
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, status, takes_all_but, virtual_service
from tests.service.dispatch.lane.hand_moved import LanePlace
from tests.service.dispatch.lane.test_lane import a_lane, always, lane_of
from tests.service.dispatch.origins.place import OPEN, PACED


@virtually
async def test_attempts_that_failed_with_the_lane_are_given_back() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: DOWN)
        (message,) = await service.add()
        counted = []
        for _ in range(200):
            await asyncio.sleep(10)
            counted.append((await service.delivery(message)).attempts)
        lane = lane_of(service, endpoint)
        assert lane.gate.phase is Phase.OPEN
        assert max(counted) > 0
        assert counted[-1] == 0


@virtually
async def test_attempts_that_failed_while_others_were_taken_are_not() -> None:
    async with virtual_service() as service:
        poison: list[str] = []
        await service.add_endpoint("a.example", takes_all_but(poison, status(500)))
        poison += await service.add()
        for _ in range(200):
            await asyncio.sleep(1)
            await service.add()
        assert (await service.delivery(*poison)).attempts == 4


@virtually
async def test_when_the_next_probe_goes_is_on_record_after_each() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: DOWN)
        await service.add(8)
        for _ in range(20):
            await asyncio.sleep(60)
            row = await service.store.get(Lanes(endpoint.application), endpoint.id)
            now = service.dispatcher.context.now()
            told = outlook(row, now=now)
            assert told.probe_at is not None
            assert told.probe_at > now - 1


@virtually
async def test_much_that_waits_at_once_goes_at_a_pace_and_a_single_one_at_once() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", rate=1.0)
        await service.add(10)
        await asyncio.sleep(0.5)
        lane = lane_of(service, endpoint)
        pace_backlog(lane, service.now())
        assert lane.gate.phase is Phase.PACED
        await service.until_delivered(endpoint, within=60)
        await asyncio.sleep(10)
        await service.add(2)
        await asyncio.sleep(0.5)
        lane = lane_of(service, endpoint)
        assert lane.waiting() == 1
        pace_backlog(lane, service.now())
        assert lane.gate.phase is Phase.CLOSED


@virtually
async def test_refusals_before_a_replay_count_for_the_lane_that_it_paces() -> None:
    async with virtual_service() as service:
        policy = (
            '{"version": 1, "attempts": 3, "backoff": {"kind": "fixed", "delay": 3},'
            ' "jitter": {"kind": "none"}}'
        )
        endpoint = await service.add_endpoint(
            "a.example", lambda _request, _now: status(404), policy=policy, fifo=True
        )
        messages = await service.add(4)
        await asyncio.sleep(7)
        lane = lane_of(service, endpoint)
        assert lane.allowance.failures_in_a_row == RULE.failures - 1
        pace_backlog(lane, service.now())
        assert lane.gate.phase is Phase.PACED
        await asyncio.sleep(HOUR)
        assert lane_of(service, endpoint).gate.phase is Phase.OPEN
        left = [(await service.delivery(message)).state for message in messages]
        assert left == [State.FAILED, State.READY, State.READY, State.READY]


def test_a_lane_that_is_open_already_goes_on_with_its_outage() -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"), waiting=3)
    use_own_gate(lane, place.now)
    pace = lane.gate.pace
    lane.gates.use_shared_gate()
    place.push(1)
    lane.open_alone(place.now, 40.0)
    assert lane.gate.pace is pace
    assert lane.gates.current is lane.gate


@virtually
async def test_one_that_is_open_alone_comes_back_by_itself() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: DOWN)
        await service.add(3)
        await asyncio.sleep(0.05)
        lane = lane_of(service, endpoint)
        lane.open_alone(service.now(), 40.0)
        assert (lane.gate.phase, lane.gates.group.gate_level.shared) == (Phase.OPEN, False)
        assert lane.gate.pace.capacity == 40.0
        service.sender.scripts["a.example"] = lambda _request, _now: OK
        await service.until_delivered(endpoint, within=60)
        await asyncio.sleep(5)
        assert lane.gate.phase is Phase.CLOSED


@virtually
async def test_a_pace_ends_when_all_that_is_left_waits_for_its_time() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", rate=1.0)
        await service.add(10)
        await service.add(3, deliver_at=service.now() + HOUR)
        await asyncio.sleep(0.5)
        pace_backlog(lane_of(service, endpoint), service.now())
        assert lane_of(service, endpoint).gate.phase is Phase.PACED
        await asyncio.sleep(60)
        assert lane_of(service, endpoint).gate.phase is Phase.CLOSED
        assert await service.waiting(endpoint) == 3


@virtually
async def test_a_pace_after_no_failure_of_the_endpoint_gives_no_attempts_back() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "backoff": {"kind": "fixed", "delay": 6000}}'
        poison: list[str] = []
        script = takes_all_but(poison, status(500))
        endpoint = await service.add_endpoint("a.example", script, policy=policy)
        await service.add(2, deliver_at=service.now() + HOUR)
        await service.add()
        await asyncio.sleep(1)
        poison += await service.add()
        await asyncio.sleep(2)
        lane = lane_of(service, endpoint)
        assert lane not in service.dispatcher.work.ticking
        pace_backlog(lane, service.now())
        assert lane.gate.phase is Phase.PACED
        assert lane in service.dispatcher.work.ticking
        await asyncio.sleep(1)
        assert (await service.delivery(*poison)).attempts == 1


@virtually
async def test_a_lane_that_opens_keeps_no_rows_and_knows_new_deliveries_when_it_is_back() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", rate=1.0)
        await asyncio.sleep(2)
        await service.add(10)
        await asyncio.sleep(0.5)
        lane, buffered = lane_of(service, endpoint), service.dispatcher.context.buffered
        assert buffered.bytes > 0
        lane.open_alone(service.now())
        assert (lane.gate.phase, buffered.bytes) == (Phase.OPEN, 0)
        assert lane.backlog.marks_fresh


# --- A user asks for a probe --------------------------------------------------------------------


@virtually
async def test_a_user_who_asks_whether_an_endpoint_is_back_gets_a_probe_at_once() -> None:
    async with virtual_service() as service:
        policy = '{"version": 1, "backoff": {"kind": "fixed", "delay": 6000}}'
        endpoint = await service.add_endpoint("a.example", always(status(500)), policy=policy)
        await service.add()
        await asyncio.sleep(1)
        lane = lane_of(service, endpoint)
        assert lane.gate.phase is Phase.CLOSED
        probe(lane, service.now())
        assert (lane.gate.phase, lane.gate.pace.probe_at) == (Phase.OPEN, service.now())
        lane.pump()
        await asyncio.sleep(0.1)
        assert len(service.sender.sent) == 2
        await asyncio.sleep(60)
        assert lane.gate.pace.probe_at > service.now()
        probe(lane, service.now())
        assert lane.gate.pace.probe_at == service.now()


@virtually
async def test_a_probe_of_an_endpoint_that_works_changes_nothing() -> None:
    async with virtual_service() as service:
        lane = await a_lane(service)
        await service.add()
        await asyncio.sleep(1)
        assert lane.allowance.was_used
        probe(lane, service.now())
        assert lane.gate.phase is Phase.CLOSED


@virtually
async def test_a_lane_that_has_sent_nothing_yet_is_probed_too() -> None:
    async with virtual_service() as service:
        lane = await a_lane(service)
        probe(lane, service.now())
        assert lane.gate.phase is Phase.OPEN


# --- Apart from its origin ----------------------------------------------------------------------


@virtually
async def test_a_lane_that_goes_apart_is_down_since_it_began_to_fail() -> None:
    async with virtual_service() as service:
        lane, now = await a_lane(service), service.now()
        use_own_gate(lane, now, now - 30)
        assert (lane.uses_own_gate, lane.gate.phase) == (True, Phase.OPEN)
        assert lane.gate.pace.down_since == now - 30


@virtually
async def test_a_lane_apart_shares_the_gate_of_its_origin_when_that_is_down_again() -> None:
    async with virtual_service() as service:
        lane, now = await a_lane(service), service.now()
        use_own_gate(lane, now)
        origin_changed(lane, Phase.OPEN, now)
        assert (lane.uses_own_gate, lane.gate.phase) == (False, Phase.CLOSED)


@virtually
async def test_a_lane_apart_keeps_its_own_gate_when_its_origin_recovers() -> None:
    async with virtual_service() as service:
        lane, now = await a_lane(service), service.now()
        use_own_gate(lane, now)
        origin_changed(lane, Phase.CLOSED, now)
        assert (lane.uses_own_gate, lane.gate.phase) == (False, Phase.OPEN)


@virtually
async def test_a_lane_that_its_origin_releases_sends_its_backlog_at_a_pace() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", rate=1.0)
        await asyncio.sleep(2)
        await service.add(3)
        await asyncio.sleep(0.5)
        lane = lane_of(service, endpoint)
        assert lane.waiting() == 2
        lane.gates.use_own_gate()
        release(lane, service.now())
        assert (lane.uses_own_gate, lane.gate.phase) == (
            False,
            Phase.CLOSED,
        )  # its gate was its own
        release(lane, service.now())
        assert lane.gate.phase is Phase.PACED


def test_at_each_tick_a_lane_sends_what_its_pace_has_room_for_by_then() -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"), pace=PACED, waiting=5)
    lane.backlog.set_mark(5)
    place.read(lane, *(place.row(lane) for _ in range(5)))
    room = lane.gate.pace.room()
    lane.gate.in_flight = room
    lane.pump()
    assert place.outbox.requests == []
    lane.gate.in_flight = room - 1  # as if its pace had grown, and no answer had come
    assert lane.tick(place.now)
    assert len(place.outbox.requests) == 1


def test_a_lane_that_its_origin_releases_sends_at_once() -> None:
    place = LanePlace()
    group = place.level("app_a", OPEN)
    lane = place.lane(group, waiting=1)
    place.read(lane, place.row(lane))
    group.gate.close()
    release(lane, place.now)
    assert len(place.outbox.requests) == 1


def test_a_lane_whose_origin_is_back_reads_which_of_its_deliveries_are_fresh() -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a", PACED), waiting=50)
    place.read(lane, *(place.row(lane) for _ in range(50)))
    place.work.take_lanes_that_need_rows(10)
    origin_changed(lane, Phase.PACED, place.now)
    assert lane.backlog.marks_fresh
    assert lane in place.work.need_rows


def test_a_paced_lane_whose_endpoint_is_paused_closes_its_gate_and_does_not_tick() -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"), pace=PACED, waiting=5)
    lane.set_standing(Standing.PAUSED, "a user said so", place.now)
    assert not lane.tick(place.now)
    assert lane.gate.phase is Phase.CLOSED
    assert lane.gate.pace.capacity == PACED.capacity
    assert place.outbox.requests == []


@virtually
async def test_an_endpoint_that_is_paused_at_a_pace_goes_at_a_pace_once_it_is_enabled() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", rate=1.0)
        await service.add(20)
        await asyncio.sleep(0.5)
        lane, work = lane_of(service, endpoint), service.dispatcher.work
        pace_backlog(lane, service.now())
        await service.change(endpoint, standing=Standing.PAUSED)
        await asyncio.sleep(1)
        assert (lane.gate.phase, lane in work.ticking) == (Phase.CLOSED, False)
        sent = len(service.sender.sent)
        await asyncio.sleep(60)
        assert len(service.sender.sent) == sent
        await service.change(endpoint, standing=Standing.ENABLED)
        await asyncio.sleep(1)
        assert lane_of(service, endpoint) is lane
        assert (Phase(lane.gate.phase), lane in work.ticking) == (Phase.PACED, True)
        await service.until_delivered(endpoint, within=60)
