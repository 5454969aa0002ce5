"""Whose turn it is at a shared gate: applications take turns, and healthy lanes go first."""

import math
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, cast

import pytest

from tarry.core.pace import Pace, Phase
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.dispatch.origins.turn_queue import EARLY_PROBE_INTERVAL, TRIALS, TurnQueue
from tarry.service.model.settings import Limits, Parking
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import NOON
from tests.service.dispatch.origins.place import OPEN, PACED, FakeTimer, Place

if TYPE_CHECKING:
    from tarry.service.dispatch.origins.member import Member


class Nobody:
    """A sender that is never asked."""

    def send(self, request: Request, done: Callable[[Answer], None]) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


class Stage:
    """A clock, one timer, a gate and its queue; what was sent is on record."""

    def __init__(self, phase: Phase, rate: float = math.inf) -> None:
        self.now = NOON
        self.due: tuple[float, Callable[[], None]] = (math.inf, lambda: None)
        self.context = Context(
            now=lambda: self.now,
            wall=lambda now: now,
            later=self.later,
            draw=lambda: 0.5,
            sender=Nobody(),
            limits=Limits(),
            parking=Parking(),
        )
        pace = Pace(phase=phase, rate=rate, probe_at=NOON + 30, down_since=NOON - 300)
        self.gate = Gate(pace, lambda: 0.5)
        self.queue = TurnQueue(self.gate, self.context, lambda *, first: True)  # noqa: ARG005  whoever asks
        self.sent: list[str] = []
        self._numbers = count(1)

    def later(self, delay: float, what: Callable[[], None]) -> "Stage":
        self.due = (self.now + delay, what)
        return self

    def cancel(self) -> None:
        self.due = (math.inf, lambda: None)

    def push(self, seconds: float) -> None:
        """Let time pass, and the timer with it."""
        until = self.now + seconds
        while self.due[0] <= until:
            self.now, what = self.due
            self.cancel()
            what()
        self.now = until

    def lane(self, tenant: str, name: str = "", *, is_healthy: bool = False) -> "FakeLane":
        return FakeLane(self, next(self._numbers), tenant, name or tenant, is_healthy=is_healthy)

    def add(self, lane: "FakeLane", *, first: bool) -> None:
        self.queue.add(cast("Member", lane), first=first)

    def discard(self, lane: "FakeLane") -> None:
        self.queue.discard(cast("Member", lane))

    def answer(self, *lanes: "FakeLane") -> None:
        """Answers come that say nothing about the endpoint."""
        for lane in lanes:
            lane.in_flight -= 1
            self.gate.lost()
        self.queue.serve()


class FakeLane:
    """As much of a member as the queue knows: it sends one for each turn."""

    def __init__(
        self, stage: Stage, number: int, tenant: str, name: str, *, is_healthy: bool
    ) -> None:
        self.stage, self.number, self.tenant, self.name = stage, number, tenant, name
        self.is_healthy, self.in_flight = is_healthy, 0

    def take_turn(self) -> None:
        self.stage.sent.append(self.name)
        self.stage.gate.sent(self.stage.now, 1)
        self.in_flight += 1


def test_applications_take_turns_and_so_do_the_lanes_of_each() -> None:
    stage = Stage(Phase.PACED, rate=1000.0)
    stage.push(0)
    many = [stage.lane("a", f"a{number}", is_healthy=True) for number in range(3)]
    stage.gate.in_flight = 10**6  # nothing may go yet
    for lane in [*many, stage.lane("b", is_healthy=True), stage.lane("c", is_healthy=True)]:
        stage.add(lane, first=True)
    stage.gate.in_flight = -(10**6)
    stage.queue.serve()
    stage.push(1)
    assert stage.sent == ["a0", "b", "c", "a1", "a2"]


def test_a_lane_that_is_added_again_keeps_its_place() -> None:
    stage = Stage(Phase.OPEN)
    first, second = stage.lane("a"), stage.lane("b")
    for lane in (first, second, first):
        stage.add(lane, first=False)
    stage.push(30)
    assert stage.sent == ["a"]


def test_a_lane_that_is_discarded_has_no_turn() -> None:
    stage = Stage(Phase.OPEN)
    lane = stage.lane("a")
    stage.add(lane, first=False)
    stage.discard(lane)
    stage.discard(stage.lane("b"))
    stage.push(60)
    assert not stage.sent


def test_nobody_is_served_once_it_is_closed() -> None:
    stage = Stage(Phase.OPEN)
    stage.add(stage.lane("a"), first=False)
    stage.queue.close()
    stage.push(60)
    assert not stage.sent


def test_others_wait_for_the_time_of_the_probe_and_one_goes() -> None:
    stage = Stage(Phase.OPEN)
    for tenant in "ab":
        stage.add(stage.lane(tenant), first=False)
    stage.push(29.9)
    assert not stage.sent
    stage.push(0.2)
    assert stage.sent == ["a"]


def test_a_lane_that_comes_first_goes_at_once_in_place_of_the_next_probe() -> None:
    stage = Stage(Phase.OPEN)
    stage.add(stage.lane("a"), first=False)
    well = stage.lane("b")
    stage.add(well, first=True)
    assert stage.sent == ["b"]
    planned = stage.gate.pace.probe_at
    stage.queue.make_up()
    assert stage.gate.pace.probe_at == planned + 30
    stage.queue.make_up()
    assert stage.gate.pace.probe_at == planned + 30


def test_one_that_comes_first_goes_beside_a_probe_that_hangs_and_does_not_know_of_a_hold() -> None:
    stage = Stage(Phase.OPEN)
    stage.gate.sent(NOON, 1)
    stage.gate.hold(NOON + 3600)
    stage.add(stage.lane("a"), first=False)
    stage.add(stage.lane("b"), first=True)
    assert stage.sent == ["b"]


def test_the_next_one_that_comes_first_waits_for_the_time_of_the_probe_it_came_in_place_of() -> (
    None
):
    stage = Stage(Phase.OPEN)
    lanes = [stage.lane(tenant) for tenant in "abc"]
    stage.add(lanes[0], first=True)
    stage.answer(lanes[0])
    stage.queue.make_up()
    stage.push(29)
    stage.add(lanes[1], first=True)
    assert stage.sent == ["a"]
    stage.push(2)
    stage.add(lanes[2], first=True)
    assert stage.sent == ["a", "b"]


def test_a_probe_that_is_due_is_brought_forward_once_in_a_while() -> None:
    stage = Stage(Phase.OPEN)
    stage.push(40)
    for tenant in "abc":
        stage.add(stage.lane(tenant), first=True)
    assert len(stage.sent) == 1
    stage.push(EARLY_PROBE_INTERVAL / 2)
    stage.add(stage.lane("d"), first=True)
    assert len(stage.sent) == 1


def test_another_is_asked_at_once() -> None:
    stage = Stage(Phase.OPEN)
    lane = stage.lane("a")
    stage.add(lane, first=False)
    stage.add(stage.lane("b"), first=False)
    stage.push(31)
    stage.queue.probe_again(stage.now)
    stage.answer(lane)
    assert stage.sent == ["a", "b"]


def test_there_are_no_more_probes_because_another_lane_was_asked_at_once() -> None:
    stage = Stage(Phase.OPEN)
    planned = stage.gate.pace.probe_at
    stage.queue.probe_again(stage.now)
    assert stage.gate.pace.probe_at == stage.now
    stage.queue.make_up()
    assert stage.gate.pace.probe_at == planned


def test_what_was_brought_forward_is_forgotten_in_another_phase() -> None:
    stage = Stage(Phase.OPEN)
    stage.add(stage.lane("a"), first=True)
    planned = stage.gate.pace.probe_at
    stage.queue.phase_changed()
    stage.queue.make_up()
    assert stage.gate.pace.probe_at == planned


def test_at_a_paced_gate_the_first_and_those_in_doubt_take_turns() -> None:
    stage = Stage(Phase.PACED, rate=10.0)
    stage.push(1)
    stage.gate.in_flight = 10**6
    for number in range(3):
        stage.add(stage.lane("a", f"well{number}", is_healthy=True), first=True)
    for tenant in "bcd":
        stage.add(stage.lane(tenant), first=False)
    stage.gate.in_flight = -(10**6)
    stage.queue.serve()
    stage.push(10)
    assert stage.sent == ["well0", "b", "well1", "c", "well2", "d"]


def test_of_an_application_in_doubt_one_request_is_in_the_air_at_a_time() -> None:
    stage = Stage(Phase.PACED, rate=1000.0)
    stage.push(1)
    lane, another = stage.lane("a"), stage.lane("a", "a2")
    stage.add(lane, first=False)
    stage.add(another, first=False)
    stage.push(1)
    assert stage.sent == ["a"]
    stage.answer(lane)
    stage.push(1)
    assert stage.sent == ["a", "a2"]


@pytest.mark.parametrize("rate", [10.0, 100.0])
def test_of_all_in_doubt_few_requests_are_in_the_air_and_there_is_room_for_another(
    rate: float,
) -> None:
    stage = Stage(Phase.PACED, rate=rate)
    stage.push(1)
    for tenant in "abcdef":
        stage.add(stage.lane(tenant), first=False)
    stage.push(5)
    assert len(stage.sent) == TRIALS < stage.gate.pace.room()
    stage.add(stage.lane("well", is_healthy=True), first=True)
    stage.push(1)
    assert stage.sent[-1] == "well"


def test_those_in_doubt_leave_a_place_in_the_air_free_that_others_do_not_have() -> None:
    stage = Stage(Phase.PACED, rate=10.0)
    stage.push(1)
    for _ in range(2):  # probes that hang still
        stage.gate.sent(stage.now, 1)
    for tenant in "ab":
        stage.add(stage.lane(tenant), first=False)
    stage.push(5)
    assert stage.sent == ["a"]


def test_lanes_that_left_the_gate_are_on_trial_no_more() -> None:
    stage = Stage(Phase.PACED, rate=10.0)
    stage.push(1)
    lanes = [stage.lane(tenant) for tenant in "abc"]
    for lane in lanes:
        stage.add(lane, first=False)
    stage.push(5)
    for lane in lanes:  # they use other gates now, and have requests in flight there
        stage.discard(lane)
        stage.gate.lost()
    stage.add(stage.lane("d"), first=False)
    stage.push(1)
    assert stage.sent == ["a", "b", "c", "d"]


def test_one_in_doubt_that_passed_is_on_trial_no_more() -> None:
    stage = Stage(Phase.PACED, rate=10.0)
    stage.push(1)
    lane, another = stage.lane("a"), stage.lane("a", "a2")
    stage.add(lane, first=False)
    stage.add(another, first=False)
    stage.push(1)
    lane.is_healthy = True  # another request of it is in the air by then
    stage.queue.serve()
    assert stage.sent == ["a", "a2"]


@pytest.mark.parametrize("first", [False, True])
def test_it_knows_whether_others_wait(*, first: bool) -> None:
    stage = Stage(Phase.OPEN)
    assert not stage.queue.has_lanes_but(())
    assert not stage.queue.has_applications_but(())
    stage.gate.sent(NOON, 1)
    stage.add(stage.lane("a"), first=False)
    one = stage.lane("b")
    stage.add(one, first=first)
    if first:
        assert stage.sent == ["b"]
        stage.add(one, first=first)
    assert stage.queue.has_lanes_but({1})
    assert stage.queue.has_lanes_but({2})
    assert not stage.queue.has_lanes_but({1, 2})
    assert stage.queue.has_applications_but({"a"})
    assert stage.queue.has_applications_but({"b"})
    assert not stage.queue.has_applications_but({"a", "b"})


def test_a_probe_waits_until_this_worker_may_send_it() -> None:
    stage = Stage(Phase.OPEN)
    asked: list[bool] = []
    allowed: list[bool] = []

    def may_probe(*, first: bool) -> bool:
        asked.append(first)
        return bool(allowed)

    stage.queue = TurnQueue(stage.gate, stage.context, may_probe)
    stage.add(stage.lane("a"), first=False)
    stage.push(29)
    assert not asked
    stage.push(60)
    assert (asked, stage.sent, stage.due[0]) == ([False], [], math.inf)
    stage.add(stage.lane("b"), first=True)
    assert (asked, stage.sent) == ([False, True], [])
    allowed.append(True)
    stage.queue.serve()
    assert stage.sent == ["b"]


def test_a_paced_gate_asks_no_other_worker() -> None:
    stage = Stage(Phase.PACED, rate=1000.0)

    def may_probe(*, first: bool) -> bool:
        raise NotImplementedError(first)

    stage.queue = TurnQueue(stage.gate, stage.context, may_probe)
    stage.add(stage.lane("a", is_healthy=True), first=True)
    stage.push(1)
    assert stage.sent == ["a"]


def test_a_probe_that_another_worker_sent_is_not_made_up_for() -> None:
    stage = Stage(Phase.OPEN)
    stage.add(stage.lane("a"), first=True)
    planned = stage.gate.pace.probe_at
    stage.queue.overtaken()
    stage.queue.make_up()
    assert stage.gate.pace.probe_at == planned


def test_a_lane_that_recovers_while_it_waits_has_one_turn() -> None:
    stage = Stage(Phase.OPEN)
    lane = stage.lane("a")
    stage.add(lane, first=False)
    stage.add(lane, first=True)
    stage.answer(lane)
    stage.push(120)
    assert stage.sent == ["a"]


def test_a_lane_that_fails_while_it_waits_has_one_turn() -> None:
    stage = Stage(Phase.PACED, rate=10.0)
    lane = stage.lane("a")
    stage.gate.in_flight = 10**6
    stage.add(lane, first=True)
    stage.add(lane, first=False)
    stage.gate.in_flight = 0
    stage.queue.serve()
    stage.push(5)
    assert stage.sent == ["a"]


def test_a_lane_that_goes_first_and_is_discarded_has_no_turn() -> None:
    stage = Stage(Phase.PACED, rate=10.0)
    lane = stage.lane("a")
    stage.gate.in_flight = 10**6
    stage.add(lane, first=True)
    stage.discard(lane)
    stage.gate.in_flight = 0
    stage.queue.serve()
    stage.push(5)
    assert stage.sent == []


def test_a_queue_that_is_closed_sets_its_timer_off() -> None:
    stage = Stage(Phase.OPEN)
    stage.add(stage.lane("a"), first=False)
    assert stage.due[0] < math.inf
    stage.queue.close()
    assert stage.due[0] == math.inf


def test_a_lane_that_is_well_goes_while_another_of_its_application_is_on_trial() -> None:
    stage = Stage(Phase.PACED, rate=10.0)
    stage.push(1)
    stage.add(stage.lane("a", "doubt"), first=False)
    stage.add(stage.lane("a", "well", is_healthy=True), first=True)
    stage.push(1)
    assert stage.sent == ["doubt", "well"]


def test_lanes_that_are_well_go_on_while_those_in_doubt_have_to_wait() -> None:
    stage = Stage(Phase.PACED, rate=1.0)
    stage.push(1)
    for name in ("doubt", "waits"):
        stage.add(stage.lane("a", name), first=False)
    for tenant in ("well", "also well"):
        stage.add(stage.lane(tenant, is_healthy=True), first=True)
    stage.push(5)
    assert stage.sent == ["doubt", "well", "also well"]


def test_a_lane_is_served_as_soon_as_the_pace_allows() -> None:
    stage = Stage(Phase.PACED, rate=10.0)
    stage.push(1)
    for tenant in "abc":
        stage.add(stage.lane(tenant, is_healthy=True), first=True)
    stage.push(0.25)
    assert stage.sent == ["a", "b", "c"]


def test_nothing_is_made_up_for_if_no_probe_went_early() -> None:
    stage = Stage(Phase.OPEN)
    stage.queue.make_up()
    assert stage.gate.pace.probe_at == NOON + 30


def test_an_early_probe_that_this_worker_may_not_send_yet_is_not_delayed() -> None:
    stage = Stage(Phase.OPEN)
    stage.queue = TurnQueue(stage.gate, stage.context, lambda *, first: not first)
    stage.add(stage.lane("a"), first=True)
    assert stage.sent == []
    stage.queue.make_up()
    assert stage.gate.pace.probe_at == NOON


def live(place: Place) -> list[FakeTimer]:
    return [timer for timer in place.timers if timer.at < math.inf]


def test_there_is_one_timer_for_all_lanes_that_wait() -> None:
    place = Place()
    _, lanes = place.group("a", 5, OPEN)
    for lane in lanes:
        lane.is_healthy = False
        lane.wait()
    assert [timer.at for timer in live(place)] == [NOON + 30]


def test_there_is_one_timer_for_lanes_that_want_another_turn_when_they_have_one() -> None:
    place = Place()
    _, lanes = place.group("a", 2, PACED)
    for lane in lanes:
        lane.wants_more = True
        lane.wait()
    assert place.sent == [lanes[0].number]
    assert len(live(place)) == 1


def test_no_timer_is_set_while_an_answer_must_come_first() -> None:
    place = Place()
    group, (lane,) = place.group("a", 1, OPEN)
    group.gate.sent(place.now, 1)
    lane.is_healthy = False
    lane.wait()
    assert not place.timers
