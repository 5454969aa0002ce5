"""What the answer to a request says, by the gate that it was sent through and its lane's gate now.

A test moves the lanes by hand: it sends a request, changes the lane or its origin, and answers.
"""

import math
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tarry.core.pace import Pace, Phase
from tarry.service.dispatch.lane import phases
from tarry.service.dispatch.lane.answers import NO_OVERLOAD
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.lane.pending_attempt import PendingAttempt
from tarry.service.dispatch.limits.gate import RULE, Gate
from tarry.service.dispatch.origins.evidence import SEVERAL
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.model.endpoint import Standing
from tarry.service.wire.exchange import Answer
from tarry.testing.samples import NOON
from tarry.testing.virtual_service import DOWN, OK, status
from tests.service.dispatch.lane.hand_moved import LanePlace
from tests.service.dispatch.origins.place import OPEN, PACED, TAKEN

FAILS = status(500)
REFUSES = status(404)
UNFIT = status(422)
GONE = status(410)
ANSWERS = {
    "OK": OK,
    "unfit": UNFIT,
    "fails": FAILS,
    "down": DOWN,
    "refuses": REFUSES,
    "gone": GONE,
}
PROBES_NOW = OPEN.replace(probe_at=NOON)


# --- A gate that the lane has left --------------------------------------------------------------


Left = Callable[[LanePlace], tuple[PendingAttempt, Origin]]
"""Returns a request whose lane has left its gate since, and a group that goes by the other gate."""


def its_group_opened(place: LanePlace) -> tuple[PendingAttempt, Origin]:
    group = place.level("app_a")
    pending = place.send(place.lane(group))
    group.open(place.now)
    return pending, group


def the_whole_opened(place: LanePlace) -> tuple[PendingAttempt, Origin]:
    group = place.level("app_a", PACED)
    pending = place.send(place.lane(group))
    whole = place.make_whole(group)
    whole.open(place.now)
    return pending, group


def its_group_left_the_whole(place: LanePlace) -> tuple[PendingAttempt, Origin]:
    group, other = place.level("app_a"), place.level("app_b")
    place.make_whole(group, other, pace=PACED)
    pending = place.send(place.lane(group))
    group.part(place.now, None, place.now - 60)
    return pending, other


def its_url_changed(place: LanePlace) -> tuple[PendingAttempt, Origin]:
    group = place.level("app_a", PROBES_NOW)
    lane = place.lane(group)
    pending = place.send(lane)
    lane.endpoint = replace(lane.endpoint, url=f"{lane.endpoint.url}/v2")
    return pending, group


LEFT = [its_group_opened, the_whole_opened, its_group_left_the_whole, its_url_changed]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("left", LEFT)
def test_an_answer_counts_for_no_gate_once_its_lane_has_left_the_one_that_it_was_sent_through(
    left: Left, answer: str
) -> None:
    place = LanePlace()
    pending, group = left(place)
    lane = pending.lane
    assert isinstance(lane, Lane)
    gates = {id(gate): gate for gate in (pending.gate, lane.gate, group.gate, lane.gates.shared)}
    air = {known: gate.air - (gate is pending.gate) for known, gate in gates.items()}
    for gate in gates.values():
        gate.step(place.now, 1)
    before = {known: gate.pace for known, gate in gates.items()}
    pending.done(ANSWERS[answer])
    for known, gate in gates.items():
        gate.step(place.now, 1)
        assert gate.air == air[known]
        assert gate.pace == before[known]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("left", [its_group_left_the_whole, its_url_changed])
def test_the_answer_to_a_lane_that_has_left_lets_the_lanes_go_on_that_waited_for_it(
    left: Left, answer: str
) -> None:
    place = LanePlace()
    pending, group = left(place)
    gate = group.leader.gate
    gate.air += gate.pace.room() - 1 if gate.phase is Phase.PACED else 0
    (other,) = place.lanes(group, 1)
    other.is_well = gate.phase is Phase.PACED  # otherwise a probe is brought forward for it
    other.wait()
    place.push(100)
    assert place.sent == []
    pending.done(ANSWERS[answer])
    assert place.sent == [other.number]


# --- A gate that it still goes by ---------------------------------------------------------------


def at_its_own(place: LanePlace, pace: Pace) -> tuple[Lane, Gate]:
    lane = place.lane(place.level("app_a"), pace=pace)
    return lane, lane.gate


def at_its_group_s(place: LanePlace, pace: Pace) -> tuple[Lane, Gate]:
    group = place.level("app_a", pace)
    return place.lane(group), group.gate


def at_the_whole_s(place: LanePlace, pace: Pace) -> tuple[Lane, Gate]:
    group = place.level("app_a")
    whole = place.make_whole(group, place.level("app_b"), pace=pace)
    return place.lane(group), whole.gate


AT = [at_its_own, at_its_group_s, at_the_whole_s]
At = Callable[[LanePlace, Pace], tuple[Lane, Gate]]


@pytest.mark.parametrize(("at", "waits"), [*zip(AT, (True, True, False), strict=True)])
def test_a_wait_that_an_endpoint_asks_for_does_not_apply_to_other_applications(
    at: At,
    waits: bool,  # noqa: FBT001  a parameter
) -> None:
    place = LanePlace()
    lane, gate = at(place, PROBES_NOW.replace(down_since=NOON - 1))
    place.send(lane).done(status(503, retry_after="50"))
    assert (gate.pace.probe_at >= place.now + 50) is waits


@pytest.mark.parametrize("answer", [OK, UNFIT])
@pytest.mark.parametrize("at", AT)
def test_a_probe_that_passes_brings_back_all_lanes_of_its_gate(at: At, answer: Answer) -> None:
    place = LanePlace()
    lane, gate = at(place, PROBES_NOW)
    place.send(lane).done(answer)
    assert (gate.phase, gate.air) == (Phase.PACED, 0)
    assert lane.gates.phase is Phase.PACED
    assert lane.gates.group.has_passed_since(place.now)


@pytest.mark.parametrize("at", AT)
def test_a_probe_that_fails_is_followed_by_a_later_one(at: At) -> None:
    place = LanePlace()
    lane, gate = at(place, PROBES_NOW)
    place.send(lane).done(FAILS)
    assert (gate.phase, gate.air, lane.gates.phase) == (Phase.OPEN, 0, Phase.OPEN)
    assert gate.pace.probe_at > place.now
    assert not lane.gates.group.has_passed_since(place.now)


def test_a_success_of_a_healthy_lane_is_evidence_for_its_application_and_the_whole() -> None:
    place = LanePlace()
    group = place.level("app_a")
    whole = place.make_whole(group, place.level("app_b"))
    place.send(place.lane(group)).done(OK)
    assert group.has_passed_since(place.now)
    assert whole.has_passed_since(place.now)


@pytest.mark.parametrize(("answer", "passed"), [(OK, True), (FAILS, False)])
def test_the_probe_of_a_lane_that_goes_apart_says_nothing_about_its_origin(
    answer: Answer,
    passed: bool,  # noqa: FBT001  a parameter
) -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lane = place.lane(group)
    phases.go_apart(lane, place.now)
    place.now = lane.gate.pace.probe_at
    pending = place.send(lane)
    assert pending.gate is lane.gate
    pending.done(answer)
    assert lane.is_apart is not passed  # it goes by the shared gate again once it passed
    assert not group.has_passed_since(place.now)
    assert (group.gate.phase, group.gate.air) == (Phase.PACED, 0)


@pytest.mark.parametrize(("answer", "counts"), [(OK, (1, 0)), (FAILS, (0, 1))])
def test_what_a_lane_sent_at_its_origin_s_pace_counts_there_although_it_goes_apart_by_now(
    answer: Answer, counts: tuple[int, int]
) -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lane = place.lane(group)
    pending = place.send(lane)
    phases.go_apart(lane, place.now)
    pending.done(answer)
    group.gate.step(place.now, 1)
    assert group.gate.pace.recent(place.now) == counts
    assert (group.gate.air, lane.gate.air) == (0, 0)


def test_a_message_that_keeps_failing_frees_the_turn_of_the_next_lane_at_a_shared_pace() -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lane = place.lane(group)
    place.send(lane, seq=1, event_type="bad").done(REFUSES)
    place.now += 1
    place.send(lane, event_type="good").done(OK)
    place.now += 1
    pending = place.send(lane, seq=1, event_type="bad", tries=1, attempts=1)
    (other,) = place.lanes(group, 1)
    group.gate.air += group.gate.pace.room() - 1
    other.wait()
    place.now += 1
    failing = lane.allowance.failing
    pending.done(REFUSES)
    assert lane.allowance.failing == failing  # the refusal is the message's own
    assert place.sent == [other.number]
    group.gate.step(place.now, 1)
    assert group.gate.pace.recent(place.now) == (1, 0)


@pytest.mark.parametrize(("failed_before", "counts"), [(True, (0, 0)), (False, (0, 1))])
def test_an_application_that_failed_before_the_origin_came_back_does_not_slow_down_the_others(
    failed_before: bool,  # noqa: FBT001  a parameter
    counts: tuple[int, int],
) -> None:
    place = LanePlace()
    group = place.level("app_a")
    whole = place.make_whole(group, place.level("app_b"), pace=PACED)
    lane = place.lane(group)
    place.now += 1
    if failed_before:
        group.count(lane, unreachable=False, now=PACED.begun - 1)
    place.send(lane).done(FAILS)
    whole.gate.step(place.now, 1)
    assert whole.gate.pace.recent(place.now) == counts


# --- Refusals and failures of several lanes ------------------------------------------------------


def test_what_several_lanes_are_refused_is_the_origin_s_and_what_one_message_is_not() -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lanes = [place.lane(group) for _ in range(SEVERAL)]
    for lane in lanes:
        place.send(lane).done(FAILS)
    assert not any(group.refuses(lane) for lane in lanes)
    for lane in lanes:
        place.send(lane).done(REFUSES)
    assert all(group.refuses(lane) for lane in lanes)


def test_messages_that_are_refused_for_themselves_are_no_evidence_against_an_origin() -> None:
    place = LanePlace()
    group = place.level("app_a", PACED)
    lanes = [place.lane(group) for _ in range(SEVERAL)]
    for number, lane in enumerate(lanes):
        place.send(lane, seq=number).done(REFUSES)
        place.now += 1
        place.send(lane).done(OK)
        place.now += 1
    for number, lane in enumerate(lanes):
        place.send(lane, seq=number, tries=1, attempts=1).done(REFUSES)
    assert not any(group.refuses(lane) for lane in lanes)


def test_refusals_through_a_lane_s_own_gate_say_nothing_about_its_origin() -> None:
    place = LanePlace()
    group = place.level("app_a")
    lanes = [place.lane(group) for _ in range(SEVERAL)]
    for lane in lanes:
        place.send(lane).done(REFUSES)
    assert not any(group.refuses(lane) for lane in lanes)


def test_successes_of_healthy_lanes_tell_new_ones_how_much_fails_by_chance_at_their_origin() -> (
    None
):
    place = LanePlace()
    group = place.level("app_a")
    old, new = place.lane(group), place.lane(group)
    for _ in range(20):
        place.send(old).done(OK)
        assert group.history.failed == 0
    for _ in range(20):
        place.fail(old, FAILS, times=2)
        place.send(old).done(OK)
    assert group.history.failed > group.history.passed > 0
    place.now += 60
    place.fail(new, FAILS, times=RULE.failures + 1)
    assert new.gate.phase is Phase.CLOSED


def test_a_success_at_a_pace_says_nothing_about_what_fails_by_chance() -> None:
    place = LanePlace()
    group = place.level("app_a")
    lane = place.lane(group, pace=PACED)
    lane.allowance.failed_before(2)
    place.send(lane).done(OK)
    assert group.history.answers == 0


def test_a_lane_that_fails_is_evaluated_at_the_next_tick_and_one_that_is_open_is_not() -> None:
    place = LanePlace()
    lane = place.lane(place.level("app_a"))
    place.now += 60
    place.send(lane).done(FAILS)
    assert lane in place.work.ticking
    place.work.stop_ticking(lane)
    place.fail(lane, FAILS, times=RULE.failures)
    assert lane.gate.phase is Phase.OPEN
    place.work.stop_ticking(lane)
    place.now = lane.gate.pace.probe_at
    place.send(lane).done(FAILS)
    assert lane not in place.work.ticking


def test_failures_of_several_lanes_through_their_own_gates_open_that_of_their_group() -> None:
    place = LanePlace()
    group = place.level("app_a")
    lanes = [place.lane(group) for _ in range(RULE.failures)]
    place.now += RULE.silence
    for number, lane in enumerate(lanes):
        assert group.shared is (number == RULE.failures)
        place.send(lane).done(FAILS)
    assert group.gate.phase is Phase.OPEN
    assert all(lane.gates.current is group.gate for lane in lanes)


def apart_after(
    place: LanePlace, answer: Answer, *, failed_before: bool, others_pass: bool
) -> int | float:
    """Return after how many answers a lane goes apart from its origin's pace."""
    group = place.level("app_a", PACED)
    lane = place.lane(group)
    (other,) = place.lanes(group, 1)
    if failed_before:
        lane.record.failed(PACED.begun - RULE.silence / 2)
    for number in range(1, NO_OVERLOAD + 5):
        place.now += 0.01
        place.send(lane).done(answer)
        if lane.is_apart:
            return number
        if others_pass:
            place.now += 0.01
            other.send_and_get(TAKEN)
    return math.inf


@pytest.mark.parametrize(
    ("answer", "failed_before", "others_pass", "after"),
    [
        (REFUSES, False, True, RULE.failures),
        (FAILS, True, True, RULE.failures),
        (FAILS, False, True, NO_OVERLOAD),
        (FAILS, True, False, math.inf),
        (DOWN, True, True, RULE.failures),
        (status(429), True, True, math.inf),
    ],
)
def test_a_lane_goes_apart_from_its_origin_s_pace_once_its_failures_cannot_be_due_to_the_pace(
    answer: Answer,
    failed_before: bool,  # noqa: FBT001  a parameter
    others_pass: bool,  # noqa: FBT001  likewise
    after: float,
) -> None:
    place = LanePlace()
    found = apart_after(place, answer, failed_before=failed_before, others_pass=others_pass)
    assert found == after


# --- Endpoints that are gone --------------------------------------------------------------------


def test_an_endpoint_that_is_gone_is_no_evidence_and_the_next_lane_is_probed_at_once() -> None:
    place = LanePlace()
    lane, gate = at_its_group_s(place, PROBES_NOW)
    (other,) = place.lanes(lane.gates.group, 1)
    other.is_well = False
    pending = place.send(lane)
    other.wait()
    assert place.sent == []
    pending.done(GONE)
    assert lane.endpoint.standing is Standing.DISABLED
    assert (place.sent, gate.phase, gate.air) == ([other.number], Phase.OPEN, 1)
    assert lane.is_well


@pytest.mark.parametrize(("answer", "reached"), [(FAILS, True), (GONE, True), (DOWN, False)])
def test_any_answer_shows_that_somebody_is_there(
    answer: Answer,
    reached: bool,  # noqa: FBT001  a parameter
) -> None:
    place = LanePlace()
    group = place.level("app_a")
    lane, (other,) = place.lane(group), place.lanes(group, 1)
    place.now += RULE.silence
    other.fail(RULE.failures - 1, unreachable=True)
    place.send(lane).done(answer)
    if reached:
        other.fail(unreachable=True)
    assert (place.wholes == []) is reached
