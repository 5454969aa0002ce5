"""Each judgement of a paced lane by itself, and all of them at an endpoint made of arithmetic."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.core.pace import Mode, Pace, PacerRule, Phase, Sample, Seen, counted
from tarry.core.search import (
    BELIEVABLE,
    BELOW,
    CEILING,
    LOWEST_GOAL,
    SLOWER,
    overloaded,
    search,
    throttled,
)
from tarry.core.window import Window

RULE = PacerRule()
NOW = 1_000.0


def lane(**known: object) -> Pace:
    """A lane that has been paced for a while, at 100 a second unless told."""
    usual: dict[str, object] = {
        "phase": Phase.PACED,
        "rate": 100.0,
        "since": NOW - 1,
        "begun": NOW - 60,
        "climb": RULE.creep,
        "hold": RULE.hold,
        "latency": 0.05,
        "usual": 0.05,
        "passed_at": NOW,
    }
    return Pace(**{**usual, **known})  # type: ignore[arg-type]


def shown(pace: Pace, *, passed: int = 0, failed: int = 0, now: float = NOW) -> Pace:
    """The state after a step with these answers."""
    seen = Seen(passed=passed, failed=failed, took=pace.usual)
    return search(RULE, counted(pace, seen, now), seen, now=now)


# --- Climbing without an idea -------------------------------------------------------------------


def test_without_a_goal_the_pace_grows_by_as_much_as_the_answers_vouch_for() -> None:
    assert shown(lane(), passed=40).rate == pytest.approx(130)
    assert shown(lane(), passed=1_000).rate == pytest.approx(100 * RULE.growth)


def test_where_some_fail_anyway_it_grows_less() -> None:
    assert shown(lane(baseline=0.1, judged=9_999), passed=100).rate == pytest.approx(130)
    assert shown(lane(judged=9_999), passed=100).rate == pytest.approx(145)


def test_it_does_not_grow_on_two_answers_nor_before_a_step_is_over() -> None:
    assert shown(lane(), passed=2).rate == 100
    assert shown(lane(since=NOW - 0.2), passed=50).rate == 100
    assert shown(lane(since=NOW - 0.5, latency=0.4, usual=0.4), passed=50).rate == 100


def test_two_failures_are_a_reason_to_wait_and_see() -> None:
    assert shown(lane(), passed=20, failed=1).rate > 100
    pace = shown(lane(), passed=20, failed=2)
    assert (pace.rate, pace.mode) == (100, Mode.CLIMB)


def test_answers_that_come_slower_are_a_reason_to_wait_and_see() -> None:
    assert shown(lane(latency=0.3), passed=40).rate == 100


def test_a_lane_that_never_has_three_answers_a_second_takes_five_in_a_row_and_its_time() -> None:
    slow = lane(rate=1.0, goal=1.0, run=4, since=NOW - 10.1)
    assert shown(slow, passed=1).rate == pytest.approx(1.03)
    assert shown(slow.replace(run=3), passed=1).rate == 1.0
    assert shown(slow.replace(since=NOW - 9.9), passed=1).rate == 1.0


def test_a_pace_that_is_not_used_does_not_grow() -> None:
    assert shown(lane(rate=1_000.0), passed=100).rate == 1_000
    idle = lane()
    for tick in range(20_000):
        idle = shown(idle, passed=5, now=NOW + tick * RULE.tick)
    assert idle.rate < 400
    assert idle.room() < 100


# --- Climbing to a goal, and beyond it ----------------------------------------------------------


def test_towards_a_goal_the_steps_are_large_and_end_there() -> None:
    assert shown(lane(goal=190.0), passed=40).rate == pytest.approx(160)
    assert shown(lane(goal=130.0), passed=40).rate == 130


def test_at_its_goal_it_holds_and_then_creeps() -> None:
    assert shown(lane(goal=100.0, since=NOW - 3.9), passed=40).rate == 100
    pace = shown(lane(goal=100.0, since=NOW - 4.1), passed=40)
    assert pace.rate == pytest.approx(103)
    assert pace.answered == Window()


def test_beyond_its_goal_it_steps_sooner_and_a_pace_that_holds_is_the_goal() -> None:
    pace = shown(lane(goal=90.0, since=NOW - 0.6), passed=40)
    assert pace.rate == pytest.approx(103)
    assert pace.goal == 90.0
    assert shown(lane(goal=90.0, since=NOW - 0.4), passed=40).rate == 100
    assert shown(lane(goal=90.0, since=NOW - 2.1), passed=40).goal == 100.0


def test_the_further_it_holds_the_bolder_the_next_step() -> None:
    pace = shown(lane(goal=90.0, since=NOW - 0.6), passed=40)
    assert pace.climb == pytest.approx(1.5 * RULE.creep)
    assert shown(lane(goal=98.0, since=NOW - 0.6), passed=40).climb == RULE.creep
    assert shown(lane(goal=90.0, since=NOW - 0.6, climb=0.39), passed=40).climb == 0.4


def test_far_below_a_pace_that_failed_it_is_bold_and_just_below_it_waits() -> None:
    far = lane(goal=90.0, failed_at=200.0, since=NOW - 0.6)
    assert shown(far, passed=40).rate == pytest.approx(120)
    near = lane(goal=98.0, failed_at=103.0, since=NOW - 0.6)
    assert shown(near, passed=40).rate == pytest.approx(BELOW * 103)
    edge = lane(rate=BELOW * 103, goal=98.0, failed_at=103.0, since=NOW - 3.9)
    assert shown(edge, passed=40).rate == BELOW * 103
    later = edge.replace(since=NOW - 4.1)
    assert shown(later, passed=40).rate == pytest.approx(BELOW * 103 * 1.03)
    past = lane(goal=98.0, failed_at=90.0, since=NOW - 0.6)
    assert shown(past, passed=40).rate == pytest.approx(103)


def test_beyond_its_goal_it_goes_back_if_a_little_more_fails_for_seconds() -> None:
    beyond = lane(goal=90.0, since=NOW - 2.1, baseline=0.3, sample=Sample(40, 50))
    pace = shown(beyond, passed=70, failed=30)
    assert (pace.rate, pace.goal, pace.failed_at) == (90.0, 90.0, 100.0)
    assert (pace.epoch, pace.sample) == (beyond.epoch + 1, Sample())
    usual = beyond.replace(sample=Sample(70, 30))
    assert shown(usual, passed=70, failed=30).goal == 100.0


# --- The baseline -------------------------------------------------------------------------------


def test_a_baseline_is_learned_in_passing() -> None:
    pace = lane(goal=1_000.0)
    for tick in range(400):
        pace = shown(pace, passed=19, failed=1 if tick % 2 else 0, now=NOW + tick * RULE.tick)
        pace = pace.replace(mode=Mode.CLIMB)
    assert pace.baseline == pytest.approx(0.025, abs=0.01)
    assert pace.judged > 1_000


def test_no_more_than_the_ceiling_is_learned_in_passing() -> None:
    pace = lane(baseline=0.119, judged=1_000)
    assert shown(pace, passed=75, failed=25).baseline <= CEILING
    known = shown(lane(baseline=0.15, most=0.16, judged=1_000), passed=80, failed=20)
    assert 0.15 < known.baseline <= 0.16


def test_the_more_answers_a_baseline_rests_on_the_less_it_may_rise() -> None:
    pace = lane(baseline=0.3, most=0.4, judged=80)
    for tick in range(200):
        pace = shown(pace, passed=7, failed=3, now=NOW + tick * RULE.tick)
        pace = pace.replace(mode=Mode.CLIMB, rate=100.0)
    assert pace.baseline == pytest.approx(0.3, abs=0.02)
    assert pace.baseline < pace.most < 0.34


def test_nothing_is_learned_while_a_higher_pace_is_tried_or_nothing_came() -> None:
    pace = lane(baseline=0.1, judged=500, goal=90.0)
    assert shown(pace, passed=9, failed=1).baseline == 0.1
    idle = lane()
    assert shown(idle) == idle


# --- Looking twice ------------------------------------------------------------------------------


def test_more_failures_than_chance_explains_are_looked_at_twice() -> None:
    pace = shown(lane(), passed=40, failed=10)
    assert (pace.mode, pace.tried, pace.since) == (Mode.LOOK, 100, NOW)
    assert pace.rate == 50  # no faster than the last second
    assert pace.answered == Window()


def test_one_failure_is_never_news() -> None:
    assert shown(lane(), passed=3, failed=1).mode is Mode.CLIMB
    assert shown(lane(), failed=1).mode is Mode.CLIMB


def test_failures_within_the_baseline_are_no_news() -> None:
    assert shown(lane(baseline=0.1, judged=1_000), passed=45, failed=5).mode is Mode.CLIMB
    assert shown(lane(baseline=0.1, judged=1_000), passed=35, failed=15).mode is Mode.LOOK


def test_answers_that_take_far_longer_than_they_can_are_looked_at_too() -> None:
    assert shown(lane(latency=0.6), passed=40).mode is Mode.LOOK


def looking(**known: object) -> Pace:
    usual = {"mode": Mode.LOOK, "tried": 100.0, "rate": 80.0, "since": NOW - 0.6}
    return lane(**{**usual, **known})


def test_it_looks_until_it_has_seen_enough() -> None:
    early = looking(since=NOW - 0.2)
    assert shown(early, passed=10).mode is Mode.LOOK
    assert shown(early, passed=40).mode is Mode.CLIMB
    certain = looking(baseline=0.1)
    assert shown(certain, passed=50, failed=5).mode is Mode.LOOK
    assert shown(certain, passed=95, failed=10).mode is Mode.CLIMB


def test_if_it_was_a_chance_it_goes_on() -> None:
    pace = shown(looking(), passed=50)
    assert (pace.mode, pace.rate) == (Mode.CLIMB, 100.0)
    assert shown(looking(tried=500.0), passed=50).rate == 100.0  # not back at one go


def test_if_nearly_all_fail_it_cuts() -> None:
    for passed, failed in ((0, 10), (10, 40)):
        pace = shown(looking(), passed=passed, failed=failed)
        assert pace.mode is Mode.SETTLE
        assert pace.goal is not None
        assert pace.rate == pace.goal / 2


def test_what_half_of_them_by_chance_explains_is_not_nearly_all() -> None:
    assert shown(looking(since=NOW - 0.1), failed=9).mode is Mode.LOOK
    assert shown(looking(since=NOW - 0.1), passed=8, failed=20).mode is Mode.LOOK
    assert shown(looking(since=NOW - 0.1, baseline=0.6), failed=13).mode is Mode.LOOK


def test_if_answers_stay_slow_it_cuts_to_what_passes_now() -> None:
    pace = shown(looking(latency=3.0, since=NOW - 9, top=500.0, topped_at=NOW), passed=15)
    assert pace.mode is Mode.SETTLE
    assert pace.goal == pytest.approx(BELOW * 60)  # fifteen in a quarter of a second


def test_if_more_fail_than_chance_explains_it_tests_a_slower_pace() -> None:
    before = looking(found=50.0)
    pace = shown(before, passed=40, failed=10)
    assert (pace.mode, pace.suspect, pace.sample) == (Mode.TEST, Sample(40, 10), Sample())
    assert pace.epoch == before.epoch + 1
    assert LOWEST_GOAL <= pace.rate < 50
    assert pace.rate < pace.found <= BELOW * 100


def test_far_below_a_remembered_capacity_failures_are_the_baseline() -> None:
    pace = shown(looking(goal=200.0), passed=46, failed=4)
    assert (pace.mode, pace.rate, pace.baseline) == (Mode.CLIMB, 100.0, 0.08)
    failed_before = looking(goal=200.0, failed_at=150.0)
    assert shown(failed_before, passed=46, failed=4).mode is Mode.TEST
    too_many = shown(looking(goal=200.0), passed=40, failed=10)
    assert too_many.mode is Mode.TEST


def test_beyond_the_goal_of_a_lane_that_hardly_ever_fails_it_is_the_limit_without_a_test() -> None:
    sure = {"goal": 95.0, "judged": 300, "found": 90.0}
    pace = shown(looking(**sure), passed=40, failed=10)
    assert (pace.mode, pace.rate, pace.goal) == (Mode.CLIMB, BELOW * 90, BELOW * 90)
    assert pace.capacity == pace.goal
    assert pace.failed_at == 100.0
    for doubt in ({"goal": 100.0}, {"goal": None}, {"judged": 299}, {"baseline": 0.02}):
        assert shown(looking(**{**sure, **doubt}), passed=40, failed=10).mode is Mode.TEST


# --- Testing a slower pace ----------------------------------------------------------------------


def in_test(**known: object) -> Pace:
    usual: dict[str, object] = {
        "mode": Mode.TEST,
        "tried": 100.0,
        "rate": 70.0,
        "found": 85.0,
        "suspect": Sample(90, 10),
        "since": NOW - 3,
    }
    return lane(**{**usual, **known})


def test_a_test_waits_until_the_endpoint_has_forgotten_the_last_pace() -> None:
    assert shown(in_test(since=NOW - 1), passed=90).mode is Mode.TEST
    assert shown(in_test(since=NOW - 1.5), passed=70).mode is Mode.TEST  # and has seen enough
    assert shown(in_test(since=NOW - 2.2), passed=90).mode is Mode.CLIMB
    assert shown(in_test(since=NOW - 4), passed=7).mode is Mode.CLIMB  # or long enough
    half = in_test(since=NOW - 1.5, suspect=Sample(50, 50))
    assert shown(half, passed=14, failed=10).mode is Mode.TEST
    assert shown(half, passed=14, failed=14).mode is Mode.CLIMB  # the more fail, the fewer tell


def test_a_slow_lane_tests_for_longer() -> None:
    slow = in_test(rate=2.0, since=NOW - 6)
    assert shown(slow, passed=6).mode is Mode.TEST
    assert shown(slow.replace(since=NOW - 7.1), passed=6).mode is Mode.CLIMB


def test_if_failures_go_away_it_was_the_limit() -> None:
    before = in_test()
    pace = shown(before, passed=90)
    assert (pace.mode, pace.rate, pace.goal, pace.capacity) == (Mode.CLIMB, 85.0, 85.0, 85.0)
    assert (pace.failed_at, pace.epoch) == (100.0, before.epoch + 1)
    assert pace.baseline == 0


def test_if_nothing_was_answered_it_was_the_limit() -> None:
    pace = shown(in_test(since=NOW - 9))
    assert (pace.mode, pace.goal) == (Mode.CLIMB, 85.0)


def test_a_test_in_which_all_fail_goes_on() -> None:
    down = in_test(rate=1.0, since=NOW - 15, suspect=Sample(1, 3))
    assert shown(down, failed=6).mode is Mode.TEST
    assert shown(down, passed=1, failed=5).mode is Mode.CLIMB


def test_if_more_fail_than_any_chance_explains_it_is_cut_back() -> None:
    down = in_test(rate=10.0, since=NOW - 15, sample=Sample(1, 24), suspect=Sample(5, 5))
    assert shown(down, passed=1).mode is Mode.SETTLE


def test_if_failures_stay_they_are_the_baseline() -> None:
    pace = shown(in_test(goal=300.0), passed=90, failed=10)
    assert (pace.mode, pace.rate, pace.baseline) == (Mode.CLIMB, 100.0, 0.1)
    assert (pace.goal, pace.capacity) == (300.0, None)


def test_a_slow_ramp_that_few_answers_speak_against_goes_up_once_more() -> None:
    unlucky = in_test(since=NOW - 4, rate=14.0, found=16.0, tried=20.0)
    pace = shown(unlucky, passed=28)
    assert (pace.mode, pace.goal, pace.rate, pace.failed_at) == (Mode.CLIMB, None, 16.0, 20.0)
    assert pace.capacity is None
    assert shown(unlucky.replace(failed_at=24.0), passed=28).goal == 16.0
    assert shown(unlucky, passed=80).goal == 16.0


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_however_many_fail_if_going_slower_does_not_help_they_are_the_baseline(
    share: float,
) -> None:
    failed = round(100 * share)
    pace = shown(in_test(suspect=Sample(100 - failed, failed)), passed=100 - failed, failed=failed)
    assert (pace.mode, pace.rate, pace.baseline) == (Mode.CLIMB, 100.0, share)
    assert share < pace.most <= BELIEVABLE
    assert pace.judged == 200  # at both paces


def test_a_limit_that_such_failures_spoke_for_is_dropped() -> None:
    limited = in_test(suspect=Sample(50, 50), goal=60.0, failed_at=80.0)
    pace = shown(limited, passed=50, failed=50)
    assert (pace.rate, pace.goal, pace.failed_at) == (100.0, None, math.inf)
    remembered = in_test(suspect=Sample(50, 50), goal=190.0)
    assert shown(remembered, passed=50, failed=50).goal == 190.0


def test_if_going_slower_helps_in_part_it_was_the_limit_and_the_rest_is_the_baseline() -> None:
    pace = shown(in_test(suspect=Sample(50, 50)), passed=75, failed=25)
    assert (pace.mode, pace.goal, pace.baseline) == (Mode.CLIMB, 85.0, 0.25)


def test_if_nearly_all_fail_in_a_test_it_cuts() -> None:
    assert shown(in_test(since=NOW - 0.2), passed=2, failed=20).mode is Mode.SETTLE


def test_where_it_keeps_failing_it_holds_longer() -> None:
    assert shown(in_test(), passed=90).hold == RULE.hold
    assert shown(in_test(failed_at=104.0), passed=90).hold == 2 * RULE.hold
    assert shown(in_test(failed_at=104.0, hold=8.0), passed=90).hold == RULE.longest_hold
    assert shown(in_test(failed_at=150.0, hold=8.0), passed=90).hold == RULE.hold


# --- Cutting and settling -----------------------------------------------------------------------


def settling(**known: object) -> Pace:
    return lane(**{"mode": Mode.SETTLE, "rate": 40.0, "goal": 80.0, "since": NOW - 0.5, **known})


def test_a_cut_goes_to_half_of_what_passed_lately() -> None:
    before = looking(top=200.0, topped_at=NOW)
    pace = shown(before.replace(tried=300.0), failed=10)
    assert pace.goal == pytest.approx(BELOW * 200)
    assert pace.rate == pytest.approx(BELOW * 100)
    assert (pace.run, pace.epoch) == (0, before.epoch + 1)
    assert pace.failed_at == pytest.approx(BELOW * 200)
    assert (pace.answered, pace.sample) == (Window(), Sample())  # they count for the old pace


def test_two_that_pass_among_failures_are_no_luck_and_the_pace_stays() -> None:
    before = settling(since=NOW - 60, sample=Sample(1, 1))
    assert shown(before.replace(sample=Sample(0, 1)), passed=1, failed=1).mode is Mode.SETTLE
    pace = shown(before, passed=1, failed=1)
    assert (pace.mode, pace.rate, pace.goal) == (Mode.CLIMB, 40.0, 40.0)


def test_three_in_a_row_end_the_wait() -> None:
    assert shown(settling(), passed=2).mode is Mode.SETTLE
    pace = shown(settling(), passed=3)
    assert (pace.mode, pace.rate, pace.capacity) == (Mode.CLIMB, 80.0, 80.0)
    assert shown(settling(latency=3.0), passed=3).mode is Mode.SETTLE


def test_where_a_part_always_fails_no_more_than_that_end_the_wait() -> None:
    usual = settling(since=NOW - 1.1, baseline=0.5)
    pace = shown(usual, passed=5, failed=5)
    assert (pace.mode, pace.rate, pace.capacity) == (Mode.CLIMB, 80.0, 80.0)
    worse = shown(usual, passed=5, failed=11)
    assert (worse.mode, worse.rate, worse.goal) == (Mode.CLIMB, 40.0, 40.0)


def test_if_nothing_passes_the_limit_is_lower_still() -> None:
    pace = shown(settling(since=NOW - 1.1), failed=10)
    assert (pace.mode, pace.goal, pace.rate) == (Mode.SETTLE, 48.0, 24.0)
    assert shown(settling(since=NOW - 1.1), failed=9).goal == 80.0
    lowest = shown(settling(goal=1.0, rate=0.5, since=NOW - 7), failed=10)
    assert (lowest.goal, lowest.rate) == (LOWEST_GOAL, LOWEST_GOAL / 2)


def test_a_slow_endpoint_is_given_time_to_settle() -> None:
    slow = settling(latency=2.0, usual=2.0, since=NOW - 3)
    assert shown(slow, failed=10).goal == 80.0
    assert shown(slow.replace(since=NOW - 4.1), failed=10).goal == 48.0


def test_at_the_lowest_goal_slow_answers_keep_no_lane_from_going_on() -> None:
    stuck = lane(mode=Mode.SETTLE, goal=LOWEST_GOAL, rate=0.5, run=2, latency=9.0, usual=0.01)
    assert shown(stuck, passed=1).mode is Mode.CLIMB
    assert shown(stuck.replace(goal=2.0), passed=1).mode is Mode.SETTLE


# --- A closed lane ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passed", "failed", "baseline", "too_much"),
    [
        (0, 19, 0.0, False),
        (0, 20, 0.0, True),
        (50, 50, 0.0, False),
        (29, 71, 0.0, False),
        (28, 72, 0.0, True),
        (28, 72, 0.6, False),
        (10, 90, 0.6, True),
    ],
)
def test_it_is_too_much_for_a_closed_lane_if_clearly_more_than_half_of_many_fail(
    passed: int, failed: int, baseline: float, *, too_much: bool
) -> None:
    closed = counted(Pace(baseline=baseline), Seen(passed=passed, failed=failed), NOW)
    assert overloaded(closed, now=NOW) is too_much


# --- An endpoint made of arithmetic -------------------------------------------------------------

Answer = Callable[[int, float], int]


def driven(pace: Pace, passes: Answer, *, seconds: float) -> tuple[Pace, list[float]]:
    """A paced lane and its pace at each tick; `passes` says how many of so many get through."""
    rates, owed, now = [], 0.0, NOW
    while now < NOW + seconds:
        now += RULE.tick
        owed += pace.rate * RULE.tick
        sent, owed = int(owed), owed % 1
        passed = passes(sent, pace.rate)
        seen = Seen(passed=passed, failed=sent - passed, took=0.05)
        pace = search(RULE, counted(pace, seen, now), seen, now=now)
        rates.append(pace.rate)
    return pace, rates


def refusing_all(capacity: float) -> Answer:
    return lambda sent, rate: 0 if rate > capacity else sent


def refusing_the_rest(capacity: float) -> Answer:
    return lambda sent, rate: min(sent, round(sent * capacity / rate))


@pytest.mark.parametrize("capacity", [50.0, 200.0, 2_000.0])
@pytest.mark.parametrize("manner", [refusing_all, refusing_the_rest])
def test_it_finds_a_limit_and_stays_near_it(
    manner: Callable[[float], Answer], capacity: float
) -> None:
    _, rates = driven(lane(rate=10.0, since=NOW, begun=NOW), manner(capacity), seconds=60)
    late = rates[len(rates) // 3 :]
    assert 0.85 * capacity <= sum(late) / len(late) <= 1.1 * capacity


@given(st.floats(30, 5_000), st.none() | st.floats(0.5, 2))
@settings(max_examples=30)
def test_whatever_the_limit_and_the_memory_it_is_found(
    capacity: float, memory: float | None
) -> None:
    known = None if memory is None else memory * capacity
    start = lane(rate=10.0 if known is None else known / 2, goal=known, since=NOW, begun=NOW)
    _, rates = driven(start, refusing_all(capacity), seconds=40)
    late = rates[-400:]
    assert 0.7 * capacity <= sum(late) / len(late) <= 1.2 * capacity


def test_it_does_not_grow_while_next_to_nothing_speaks_for_the_pace() -> None:
    lots = lane(run=50, since=NOW - 5)
    seen = Seen(passed=9, spared=90, took=0.05)
    assert search(RULE, counted(lots, seen, NOW), seen, now=NOW).rate == 100
    seen = Seen(passed=20, spared=90, took=0.05)
    assert search(RULE, counted(lots, seen, NOW), seen, now=NOW).rate > 100


def test_where_some_fail_and_some_do_not_it_settles_at_the_pace_it_has() -> None:
    settling = lane(mode=Mode.SETTLE, rate=20.0, goal=40.0, since=NOW - 1.1)
    pace = shown(settling, passed=6, failed=6)
    assert (pace.mode, pace.rate, pace.goal) == (Mode.CLIMB, 20.0, 20.0)
    pace = shown(settling, passed=3, failed=17)
    assert (pace.mode, pace.rate) == (Mode.SETTLE, 12.0)
    pace = shown(settling, passed=1, failed=1)
    assert (pace.mode, pace.rate) == (Mode.SETTLE, 20.0)
    lowest = shown(settling.replace(rate=0.5, goal=LOWEST_GOAL, since=NOW - 7), passed=6, failed=6)
    assert (lowest.mode, lowest.rate, lowest.goal) == (Mode.CLIMB, 0.5, LOWEST_GOAL)


def test_while_nothing_speaks_for_the_pace_it_goes_below_what_was_proven() -> None:
    pace = lane(goal=96.0, rate=99.0, since=NOW - 2)
    seen = Seen(spared=90)
    rates = []
    for second in range(5):
        now = NOW + 1.1 * second
        pace = search(RULE, counted(pace, seen, now), seen, now=now)
        rates.append(pace.rate)
    assert rates[0] == pytest.approx(0.9 * 96)
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == 72


def test_a_slow_lane_has_seconds_in_which_nothing_speaks_for_it() -> None:
    pace = lane(goal=5.0, rate=5.2, since=NOW - 2, run=2)
    seen = Seen(spared=4)
    assert search(RULE, counted(pace, seen, NOW), seen, now=NOW).rate == 5.2


# --- Asked for a pause --------------------------------------------------------------------------


def test_a_wish_for_a_pause_lowers_the_pace_and_the_limit() -> None:
    pace = throttled(RULE, lane(epoch=3), 5.0, now=NOW)
    assert (pace.rate, pace.goal, pace.capacity) == pytest.approx((85.0, 85.0, 85.0))
    assert (pace.mode, pace.epoch, pace.since) == (Mode.CLIMB, 4, NOW)
    assert BELOW * pace.failed_at == pytest.approx(pace.goal)


def test_it_goes_no_faster_than_the_endpoint_accepted_lately() -> None:
    assert throttled(RULE, lane(top=20.0, topped_at=NOW), 5.0, now=NOW).rate == BELOW * 20
    half = lane(top=20.0, topped_at=NOW, baseline=0.5)
    assert throttled(RULE, half, 5.0, now=NOW).rate == pytest.approx(BELOW * 40)


@pytest.mark.parametrize(("asked", "hold"), [(0.1, RULE.hold), (3.0, 30.0), (3600.0, 600.0)])
def test_the_longer_the_pause_the_longer_it_holds_before_it_tries_more(
    asked: float, hold: float
) -> None:
    pace = throttled(RULE, lane(), asked, now=NOW)
    assert pace.hold == hold
    before, after = NOW + hold - 0.1, NOW + hold + 0.1
    assert shown(pace.replace(run=9), passed=80, now=before).rate == pace.rate
    assert shown(pace.replace(run=9), passed=80, now=after).rate > pace.rate


def test_the_slowest_pace_stays_as_it_is() -> None:
    slowest = lane(rate=LOWEST_GOAL)
    assert throttled(RULE, slowest, 5.0, now=NOW) is slowest
    assert throttled(RULE, lane(rate=1.1), 5.0, now=NOW).rate == LOWEST_GOAL
    assert 1.1 * SLOWER < LOWEST_GOAL
