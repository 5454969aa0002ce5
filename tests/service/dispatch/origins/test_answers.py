"""Answers to lanes: some open a gate for all, others concern one lane or application."""

from typing import TYPE_CHECKING

import pytest

from tarry.core.pace import REMEMBERED, Pace, Phase, Sample
from tarry.service.dispatch.limits.gate import RULE, Gate
from tarry.service.dispatch.origins.answers import spares
from tarry.service.dispatch.origins.evidence import SEVERAL
from tarry.testing.samples import NOON
from tests.service.dispatch.origins.place import (
    FAILED,
    OPEN,
    PACED,
    REFUSED,
    TAKEN,
    UNREACHABLE,
    FakeLane,
    Place,
    drain,
    fail_together,
    overload,
)

if TYPE_CHECKING:
    from tarry.service.dispatch.origins.origin import Origin

# --- Evidence


def test_a_group_opens_on_enough_failures_of_several_lanes() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    place.push(1)
    for lane in lanes:
        lane.fail()
    lanes[0].fail(RULE.failures - SEVERAL - 1)
    assert not group.shared
    lanes[0].fail()
    assert group.gate.phase is Phase.OPEN
    assert group.gate.pace.down_since == place.now
    assert [lane.heard for lane in lanes] == 3 * [[("shared",)]]
    assert group.is_changed


def test_failures_of_few_lanes_do_not_open_their_group() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    place.push(1)
    for lane in lanes[:-1]:
        lane.fail(10)
    assert not group.shared


def test_failures_just_after_a_success_open_nothing() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    place.push(1)
    group.passed(place.now)
    place.push(RULE.silence - 0.01)
    fail_together(lanes)
    assert not group.shared
    place.push(0.02)
    lanes[0].fail()
    assert group.shared


def test_failures_before_a_success_are_no_evidence_against_a_group_any_more() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    place.push(1)
    for lane in (*lanes, lanes[0]):
        lane.fail()
    group.passed(place.now)
    place.push(1)
    lanes[0].fail()
    assert not group.shared


def test_failures_before_a_success_are_no_evidence_against_the_whole_any_more() -> None:
    place = Place()
    groups = [place.group(name, 1) for name in "abc"]
    whole = place.make_whole(*(group for group, _ in groups))
    lanes = [lane for _, (lane,) in groups]
    place.push(1)
    for lane in (*lanes, lanes[0]):
        lane.fail()
    groups[1][0].passed(place.now)
    place.push(1)
    lanes[0].fail()
    assert not whole.shared


def test_the_first_failures_of_a_new_origin_open_it_at_once() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    place.push(0.01)
    fail_together(lanes)
    assert group.shared


def test_several_applications_of_one_lane_each_open_the_whole() -> None:
    place = Place()
    groups = [place.group(name, 1) for name in "abc"]
    whole = place.make_whole(*(group for group, _ in groups))
    place.push(1)
    fail_together([lane for _, (lane,) in groups])
    assert whole.gate.phase is Phase.OPEN
    for group, (lane,) in groups:
        assert (group.shared, group.gate_level, lane.heard) == (False, whole, [("shared",)])


def test_a_lane_that_is_alone_at_its_origin_stays_on_its_own() -> None:
    place = Place()
    group, (lane,) = place.group("a", 1)
    place.push(1)
    lane.fail(10, unreachable=True)
    assert not place.wholes
    assert not group.shared


def test_two_lanes_that_cannot_connect_open_the_whole() -> None:
    place = Place()
    group, lanes = place.group("a", 2)
    place.push(1)
    fail_together(lanes, unreachable=True)
    (whole,) = place.wholes
    assert whole.gate.phase is Phase.OPEN
    assert group.gate_level is whole


def test_when_nobody_is_there_the_whole_opens_and_not_the_group() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    place.push(1)
    fail_together(lanes, unreachable=True)
    (whole,) = place.wholes
    assert (whole.shared, group.shared, group.gate.pace.epoch) == (True, False, 0)


def test_an_origin_at_which_an_attempt_just_passed_is_not_taken_for_dead() -> None:
    place = Place()
    group, lanes = place.group("a", 2)
    group.passed(place.now)
    fail_together(lanes, unreachable=True)
    assert not place.wholes


@pytest.mark.parametrize("has_whole", [False, True])
def test_an_answer_ends_the_row_of_attempts_that_cannot_connect(*, has_whole: bool) -> None:
    place = Place()
    group, lanes = place.group("a", 2)
    if has_whole:
        place.make_whole(group)
    place.push(1)
    lanes[0].fail(RULE.failures - 1, unreachable=True)
    group.reached()
    lanes[0].fail(unreachable=True)
    assert not any(whole.shared for whole in place.wholes)
    lanes[0].fail(RULE.failures - 1, unreachable=True)
    assert [whole.shared for whole in place.wholes] == [True]


def test_lanes_that_were_down_before_another_passed_are_no_evidence() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL + 1)
    for lane in lanes[:SEVERAL]:
        lane.gate.open(place.now, 1)
    place.push(10)
    group.passed(place.now)
    place.push(10)
    fail_together(lanes[:SEVERAL])
    assert not group.shared


def test_lanes_that_went_down_after_the_last_success_are_evidence() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    group.passed(place.now)
    place.push(10)
    for lane in lanes:
        lane.gate.open(place.now, 1)
    fail_together(lanes)
    assert group.shared


def test_lanes_that_cannot_connect_are_evidence_whenever_they_went_down() -> None:
    place = Place()
    group, lanes = place.group("a", 2)
    for lane in lanes:
        lane.gate.open(place.now, 1)
    place.push(10)
    group.passed(place.now)
    place.push(10)
    fail_together(lanes, unreachable=True)
    assert [whole.shared for whole in place.wholes] == [True]


def test_failures_of_lanes_that_often_fail_by_chance_are_no_evidence() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    for lane in lanes:
        lane.gate = Gate(Pace(history=Sample(100, 100)), lambda: 0.5)
        assert lane.gate.fails_by_chance
    place.push(1)
    fail_together(lanes)
    assert not group.shared


def test_what_fails_by_chance_is_counted_from_the_first_failure_on() -> None:
    place = Place()
    group, _ = place.group("a", 1)
    whole = place.make_whole(group)
    group.add_success(0)
    assert group.history.answers == 0
    group.add_success(2)
    group.add_success(0)
    assert group.history == whole.history == Sample(2, 2)
    whole.disown(group)
    assert group.history == Sample(2, 2)
    for _ in range(REMEMBERED):
        group.add_success(1)
    assert group.history.answers <= REMEMBERED


# --- Refusals


def test_refusals_of_several_lanes_concern_all_that_were_refused() -> None:
    place = Place()
    group, (*refused, other) = place.group("a", SEVERAL + 1, PACED)
    for lane in refused:
        assert not group.evidence.refuses(refused[0].member.number)
        lane.send_and_get(REFUSED)
    assert all(group.evidence.refuses(lane.member.number) for lane in refused)
    assert not group.evidence.refuses(other.member.number)


def test_a_lane_that_is_refused_while_others_pass_is_refused_on_its_own() -> None:
    place = Place()
    group, (own, good, *others) = place.group("a", 4, PACED)
    own.send_and_get(REFUSED)
    good.send_and_get(TAKEN)
    for lane in (own, *others):
        lane.send_and_get(REFUSED)
    assert not group.evidence.refuses(others[0].member.number)


def test_a_lane_that_passed_again_is_not_refused_on_its_own_any_more() -> None:
    place = Place()
    group, (own, good, *others) = place.group("a", 4, PACED)
    own.send_and_get(REFUSED)
    good.send_and_get(TAKEN)
    own.send_and_get(TAKEN)
    for lane in (own, *others):
        lane.send_and_get(REFUSED)
    assert group.evidence.refuses(own.member.number)


def test_a_failure_between_refusals_shows_that_not_all_are_refused() -> None:
    place = Place()
    group, (first, second, third, failing) = place.group("a", 4, PACED)
    for lane, judgement in (
        (first, REFUSED),
        (second, REFUSED),
        (failing, FAILED),
        (third, REFUSED),
    ):
        lane.send_and_get(judgement)
    assert not group.evidence.refuses(third.member.number)


def test_a_probe_that_passes_shows_that_all_earlier_refusals_were_of_their_lanes() -> None:
    place = Place()
    group, (before, during, good, *others) = place.group("a", 5, OPEN)
    before.refusals = 1  # it was refused when it went by its own gate
    during.send_and_get(REFUSED)
    good.send_and_get(TAKEN)
    assert group.gate.phase is Phase.PACED
    for lane in (before, *others):
        lane.send_and_get(REFUSED)
    assert not group.evidence.refuses(others[0].member.number)


def test_no_lane_is_refused_on_its_own_once_all_are_down() -> None:
    place = Place()
    group, (own, good, *others) = place.group("a", 4, PACED)
    own.send_and_get(REFUSED)
    good.send_and_get(TAKEN)
    group.open(place.now)
    own.refusals = 0
    good.send_and_get(TAKEN)
    assert group.gate.phase is Phase.PACED
    for lane in (own, *others):
        lane.send_and_get(REFUSED)
    assert group.evidence.refuses(own.member.number)


def test_a_group_of_which_all_are_refused_opens_at_once_instead_of_slowing_down() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL, PACED)
    place.push(1)
    for lane in (*lanes, *lanes):
        lane.send_and_get(REFUSED)
    assert all(lane.heard == [] for lane in lanes)
    lanes[0].send_and_get(REFUSED)
    assert group.gate.phase is Phase.OPEN


def test_an_open_group_of_which_all_are_refused_stays_open() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL, OPEN)
    place.push(1)
    for lane in RULE.failures * lanes:
        lane.send_and_get(REFUSED)
    assert group.gate.phase is Phase.OPEN


def test_an_application_of_which_all_are_refused_parts_from_a_whole_that_drains() -> None:
    place = Place()
    (a, lanes), (b, (good,)) = place.group("a", SEVERAL), place.group("b", 1)
    whole = place.make_whole(a, b, pace=PACED)
    good.send_and_get(TAKEN)
    place.push(1)
    for lane in (*lanes, *lanes):
        lane.send_and_get(REFUSED)
    assert a.gate_level is whole
    lanes[0].send_and_get(REFUSED)
    assert (a.gate_level, a.gate.phase) == (a, Phase.OPEN)
    assert (b.gate_level, whole.gate.phase) == (whole, Phase.PACED)


# --- Which lane is probed next


def test_a_lane_that_is_refused_as_the_first_gives_the_probe_to_another_at_once() -> None:
    place = Place()
    _, lanes = place.group("a", SEVERAL + 1, OPEN)
    for lane in lanes:
        lane.is_healthy = False
        lane.wait()
    place.push(31)
    for number in range(SEVERAL):
        assert place.sent == [lane.number for lane in lanes[: number + 1]]
        lanes[number].get(REFUSED)
    assert len(place.sent) == SEVERAL  # several are refused: that is evidence enough


def test_a_lane_that_is_refused_does_not_give_the_probe_to_one_that_was_refused() -> None:
    place = Place()
    _, (first, second) = place.group("a", 2, OPEN)
    for lane in (first, second):
        lane.is_healthy = False
        lane.wait()
    place.push(31)
    first.wait()
    first.get(REFUSED)
    second.get(REFUSED)
    assert place.sent == [first.number, second.number]


def test_an_application_that_fails_as_the_first_gives_the_probe_to_another_at_once() -> None:
    place = Place()
    groups = [place.group(name, 2) for name in "ab"]
    place.make_whole(*(group for group, _ in groups), pace=OPEN)
    lanes = [lane for _, lanes in groups for lane in lanes]
    for lane in lanes:
        lane.is_healthy = False
        lane.wait()
    place.push(31)
    assert place.sent == [lanes[0].number]
    lanes[0].get(FAILED)
    assert place.sent == [lanes[0].number, lanes[2].number]
    lanes[2].get(FAILED)
    assert len(place.sent) == 2  # both applications have been asked


def test_a_probe_that_cannot_connect_says_enough_about_all_applications() -> None:
    place = Place()
    groups = [place.group(name, 1) for name in "ab"]
    place.make_whole(*(group for group, _ in groups), pace=OPEN)
    for _, (lane,) in groups:
        lane.is_healthy = False
        lane.wait()
    place.push(31)
    groups[0][1][0].get(UNREACHABLE)
    assert len(place.sent) == 1


def test_a_failure_in_a_group_gives_the_probe_to_nobody() -> None:
    place = Place()
    group, lanes = place.group("a", 2, OPEN)
    for lane in lanes:
        lane.is_healthy = False
        lane.wait()
    place.push(31)
    group.mark_saved()
    lanes[0].get(FAILED)
    assert place.sent == [lanes[0].number]
    assert group.is_changed  # `explain` reads when the next probe goes


def test_a_probe_that_went_early_delays_the_next_one() -> None:
    place = Place()
    group, (failing, well) = place.group("a", 2, OPEN)
    failing.is_healthy = False
    failing.wait()
    well.wait()
    assert place.sent == [well.number]
    planned = group.gate.pace.probe_at
    well.get(FAILED)
    assert group.gate.pace.probe_at == planned + 30


def test_in_a_new_outage_a_lane_that_is_well_goes_at_once_again() -> None:
    place = Place()
    group, (first, second) = place.group("a", 2, OPEN)
    first.wait()
    assert place.sent == [first.number]
    place.push(1)
    group.passed_elsewhere(PACED, place.now)  # a probe of another worker passed
    assert group.gate.phase is Phase.PACED
    group.open(place.now)
    second.wait()
    assert place.sent == [first.number, second.number]


def test_an_answer_gives_the_turn_to_the_next_lane_while_an_origin_drains() -> None:
    place = Place()
    group, (first, second) = place.group("a", 2, PACED)
    group.gate.in_flight = group.gate.pace.room()
    second.wait()
    place.push(1)
    assert place.sent == []
    first.get(TAKEN)
    assert place.sent == [second.number]


# --- Applications that fail alone


def a_failing_group(
    place: Place, lanes_of_a: int
) -> "tuple[Origin, Origin, list[FakeLane], FakeLane]":
    """Make a whole that drains and an application that fails since before another one passed."""
    (a, lanes), (b, (good,)) = place.group("a", lanes_of_a), place.group("b", 1)
    whole = place.make_whole(a, b, pace=PACED)
    lanes[0].send_and_get(FAILED)
    place.push(1)
    good.send_and_get(TAKEN)
    place.push(1)
    for lane in lanes:
        lane.heard.clear()
    return whole, a, lanes, good


def test_an_application_that_keeps_failing_while_others_pass_uses_its_own_gate() -> None:
    place = Place()
    whole, a, lanes, good = a_failing_group(place, SEVERAL)
    for number in range(1, RULE.failures):
        assert a.gate_level is whole
        lanes[number % SEVERAL].send_and_get(FAILED)
    assert a.uses_own_gate
    assert (a.gate_level, a.gate.phase, whole.gate.phase) == (a, Phase.OPEN, Phase.PACED)
    assert (a.gate.pace.capacity, a.gate.pace.down_since) == (80.0, NOON + 1)
    assert [lane.heard for lane in lanes] == SEVERAL * [[("shared",)]]
    assert good.group.gate_level is whole
    assert whole.waiting_here() == 1


def test_failures_of_probes_do_not_count_towards_using_an_own_gate() -> None:
    place = Place()
    (a, (bad,)), (b, (good,)) = place.group("a", 1), place.group("b", 1)
    whole = place.make_whole(a, b, pace=OPEN)
    for _ in range(RULE.failures - 1):
        bad.send_and_get(FAILED)
    place.push(1)
    good.send_and_get(TAKEN)
    assert whole.gate.phase is Phase.PACED
    for _ in range(RULE.failures):
        assert a.gate_level is whole
        bad.send_and_get(FAILED)
    assert a.gate_level is a


def test_an_application_stays_while_its_failures_may_be_chance_as_those_of_others_are() -> None:
    place = Place()
    (a, (unlucky,)), (b, (half,)) = place.group("a", 1), place.group("b", 1)
    whole = place.make_whole(a, b, pace=OPEN)
    unlucky.send_and_get(FAILED)
    place.push(1)
    for _ in range(20):
        half.send_and_get(TAKEN)
        half.send_and_get(FAILED)
    whole.tick(place.now)
    assert whole.gate.phase is Phase.PACED
    row = whole.gate.row_beyond_chance(place.now, besides=0)
    assert row > 2 * RULE.failures
    for _ in range(row - 2):
        unlucky.send_and_get(FAILED)
        whole.tick(place.now)
        assert a.gate_level is whole
    for _ in range(2):
        unlucky.send_and_get(FAILED)
    assert a.gate_level is a


def test_a_lane_that_fails_alone_of_its_application_parts_alone() -> None:
    place = Place()
    _, a, (bad, fine), _ = a_failing_group(place, 2)
    for _ in range(RULE.failures - 1):
        bad.send_and_get(FAILED)
    assert (a.gate_level, a.shared) == (a, False)
    assert bad.heard == [("alone", 80.0, NOON + 1)]
    assert fine.heard == [("released",)]


def test_lanes_of_an_application_that_parted_have_no_turn_at_the_whole() -> None:
    place = Place()
    whole, _, lanes, _ = a_failing_group(place, SEVERAL)
    whole.gate.in_flight += 100
    lanes[2].wait()
    for number in range(1, RULE.failures):
        lanes[number % SEVERAL].send_and_get(FAILED)
    whole.gate.in_flight -= 100
    whole.serve()
    place.push(1)
    assert place.sent == []


def test_an_application_that_failed_only_since_others_passed_stays() -> None:
    place = Place()
    (a, lanes), (b, (good,)) = place.group("a", SEVERAL), place.group("b", 1)
    whole = place.make_whole(a, b, pace=PACED)
    good.send_and_get(TAKEN)
    place.push(1)
    for number in range(RULE.failures):
        lanes[number % SEVERAL].send_and_get(FAILED)
    assert (a.gate_level, a.uses_own_gate) == (whole, False)


def test_failures_of_an_application_that_parted_do_not_count_against_the_whole() -> None:
    place = Place()
    whole, a, lanes, _ = a_failing_group(place, SEVERAL)
    for number in range(1, RULE.failures):
        lanes[number % SEVERAL].send_and_get(FAILED)
    place.push(60)
    for _ in range(2 * RULE.failures):
        lanes[0].send_and_get(UNREACHABLE)
    assert (whole.gate.phase, a.gate_level, a.shared) == (Phase.PACED, a, True)


def test_an_application_that_parted_stays_open_when_the_whole_disbands() -> None:
    place = Place()
    whole, a, lanes, good = a_failing_group(place, SEVERAL)
    for number in range(1, RULE.failures):
        lanes[number % SEVERAL].send_and_get(FAILED)
    pace = a.gate.pace
    overload(place, whole, [good])
    assert (whole.shared, a.uses_own_gate) == (False, False)
    assert (a.gate_level, a.gate.pace) == (a, pace)


def test_an_application_that_parted_belongs_to_the_whole_again_once_that_is_well() -> None:
    place = Place()
    whole, a, lanes, good = a_failing_group(place, SEVERAL)
    for number in range(1, RULE.failures):
        lanes[number % SEVERAL].send_and_get(FAILED)
    drain(place, whole, [good])
    assert (a.gate_level, a.uses_own_gate, a.gate.phase) == (a, False, Phase.OPEN)


def test_failures_of_an_application_that_never_came_back_say_nothing_about_the_pace() -> None:
    place = Place()
    (a, (bad,)), (b, (good,)) = place.group("a", 1), place.group("b", 1)
    whole = place.make_whole(a, b)
    whole.open(place.now)
    place.push(1)
    bad.send_and_get(FAILED)
    place.push(1)
    good.send_and_get(TAKEN)
    assert whole.gate.phase is Phase.PACED
    assert spares(whole, bad.member)
    assert not spares(whole, good.member)
    assert not spares(a, bad.member)


def test_open_groups_of_several_applications_open_the_whole() -> None:
    place = Place()
    groups = [place.group(name, 2) for name in "abc"]
    whole = place.make_whole(*(group for group, _ in groups))
    place.push(1)
    for group, _ in groups:
        group.open(place.now)
    place.push(1)
    for number in range(RULE.failures):
        assert not whole.shared
        groups[number % 3][1][0].send_and_get(FAILED)
    assert whole.gate.phase is Phase.OPEN
    assert not any(group.shared for group, _ in groups)


def test_an_open_group_that_cannot_connect_any_more_opens_the_whole() -> None:
    place = Place()
    group, lanes = place.group("a", 2, OPEN)
    place.push(1)
    for _ in range(RULE.failures):
        assert not place.wholes
        lanes[0].send_and_get(UNREACHABLE)
    assert [whole.gate.phase for whole in place.wholes] == [Phase.OPEN]
    assert not group.shared
