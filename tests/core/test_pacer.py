import math
import pickle
import random
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.pace import MOVES, Mode, Pace, PacerRule, Phase, Sample, Seen
from tarry.core.pacer import BRISK, handed_over, in_a_row, opened, ramped, step
from tarry.core.probe import SHORTEST, probed
from tarry.core.search import BELIEVABLE
from tarry.core.window import Window

RULE = PacerRule()
NOW = 1_000.0
WAITING = 10_000


def half() -> float:
    return 0.5


def never() -> float:
    raise AssertionError("nothing is drawn unless a probe is planned")


def told(
    pace: Pace,
    *reports: Seen,
    now: float = NOW,
    waiting: int = WAITING,
    draw: Callable[[], float] = half,
) -> Pace:
    """The state after these reports, all at one time."""
    for seen in reports:
        pace = step(RULE, pace, seen, now=now, waiting=waiting, draw=draw)
    return pace


def down(capacity: float | None = None, now: float = NOW) -> Pace:
    """A lane that opened now."""
    return told(Pace(capacity=capacity), Seen(failed=RULE.failures), now=now)


def paced(capacity: float | None = None, now: float = NOW) -> Pace:
    """A lane that opened a second ago and whose probe passed now."""
    return told(down(capacity, now - 1), Seen(passed=1, took=0.05), now=now)


# --- Closed -------------------------------------------------------------------------------------


def test_five_failures_in_a_row_open_a_lane() -> None:
    pace = told(Pace(), *[Seen(failed=1)] * 5)
    assert pace.phase is Phase.OPEN
    assert (pace.rate, pace.down_since, pace.probes, pace.streak) == (0.0, NOW, 0, 5)
    assert pace.probe_at > NOW


def test_four_failures_do_not_open_a_lane() -> None:
    assert told(Pace(), *[Seen(failed=1)] * 4, draw=never).phase is Phase.CLOSED


def test_a_success_in_between_starts_the_count_anew() -> None:
    reports = [*[Seen(failed=1)] * 4, Seen(passed=1), *[Seen(failed=1)] * 4]
    assert told(Pace(), *reports, draw=never).phase is Phase.CLOSED
    mixed = [Seen(failed=4, passed=1), Seen(failed=4)]
    assert told(Pace(), *mixed, draw=never).phase is Phase.CLOSED


def test_five_failures_just_after_a_success_do_not_open_a_lane_until_it_stays_silent() -> None:
    pace = told(Pace(), Seen(passed=1))
    pace = told(pace, Seen(failed=9), now=NOW + 0.9 * RULE.silence, draw=never)
    assert pace.phase is Phase.CLOSED
    pace = told(pace, Seen(failed=1), now=NOW + RULE.silence + 0.01)
    assert pace.phase is Phase.OPEN


def test_a_closed_lane_of_which_clearly_more_than_half_fails_is_paced() -> None:
    pace = told(Pace(), Seen(passed=25, failed=75, took=0.05), draw=never)
    assert pace.phase is Phase.PACED
    assert 1 <= pace.rate < 100
    assert pace.epoch > 0
    assert pace.down_since == NOW


@pytest.mark.parametrize("failed", [33, 50, 70])
def test_a_closed_lane_of_which_half_may_fail_by_chance_stays_closed(failed: int) -> None:
    pace = told(Pace(), Seen(passed=100 - failed, failed=failed, took=0.05), draw=never)
    assert (pace.phase, pace.rate) == (Phase.CLOSED, math.inf)


# --- Failures by chance -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "row"),
    [
        (Sample(), 5),
        (Sample(96, 0), 5),
        (Sample(90, 10), 5),
        (Sample(70, 30), 10),
        (Sample(48, 52), 17),
        (Sample(0, 100), 17),
    ],
)
def test_the_more_fail_by_chance_the_longer_the_row_that_is_an_outage(
    history: Sample, row: int
) -> None:
    pace = Pace(history=history)
    assert in_a_row(RULE, pace) == row
    assert told(pace, *[Seen(failed=1)] * (row - 1), draw=never).phase is Phase.CLOSED
    assert told(pace, *[Seen(failed=1)] * row).phase is Phase.OPEN


def test_a_paced_lane_goes_by_its_baseline() -> None:
    pace = paced(190.0).replace(baseline=0.5, passed_at=NOW - 60)
    assert told(pace, Seen(failed=16), draw=never).phase is Phase.PACED
    assert told(pace, Seen(failed=17)).phase is Phase.OPEN


@given(st.integers(0, 200), st.integers(0, 200))
def test_every_lane_opens_after_at_most_17_failures(passed: int, failed: int) -> None:
    assert RULE.failures <= in_a_row(RULE, Pace(history=Sample(passed, failed))) <= 17


def test_a_lane_that_answers_just_after_it_was_opened_starts_faster() -> None:
    soon, later = NOW + 0.9 * RULE.silence, NOW + RULE.silence + 0.01
    for capacity, rate in ((None, BRISK * RULE.first), (1_000.0, 500.0)):
        hardly = told(down(capacity), Seen(late=1, took=0.05), now=soon)
        assert (hardly.phase, hardly.rate) == (Phase.PACED, rate)
    assert told(down(), Seen(late=1, took=0.05), now=later).rate == RULE.first


def test_a_lane_whose_failures_may_turn_out_to_be_chance_is_probed_often() -> None:
    doubtful = down().replace(history=Sample(10, 10), probe_at=NOW + 60)
    row = in_a_row(RULE, doubtful)
    pace, soon = doubtful, NOW + RULE.silence
    for _ in range(row - RULE.failures):
        pace = told(pace.replace(probe_at=NOW + 60), Seen(failed=1))
        assert (pace.phase, pace.probe_at) == (Phase.OPEN, soon)
    back = told(pace, Seen(passed=1), now=NOW + 1)
    assert back.rate == RULE.first  # it was down after all
    later = told(pace.replace(probe_at=NOW + 60), Seen(failed=1))
    assert later.probe_at == NOW + 60
    assert told(doubtful, Seen(passed=1), now=NOW + 1).rate == BRISK * RULE.first


def test_a_lane_that_opened_after_a_long_enough_row_is_not_doubted() -> None:
    known = told(Pace(history=Sample(10, 10)), Seen(failed=20)).replace(probe_at=NOW + 60)
    assert told(known, Seen(failed=1)).probe_at == NOW + 60
    assert told(known, Seen(passed=1), now=NOW + 1).rate == RULE.first


def test_a_doubtful_lane_waits_as_long_as_its_endpoint_asks() -> None:
    doubtful = down().replace(history=Sample(10, 10))
    assert told(doubtful, Seen(failed=1, retry_after=60.0)).probe_at > NOW + 60
    held = doubtful.replace(held_until=NOW + 5, probe_at=NOW + 60)
    assert told(held, Seen(failed=1)).probe_at == NOW + 5


class Unreliable:
    """A closed lane and an endpoint that takes anything but fails a share by chance."""

    def __init__(self, share: float, rate: float, seed: int) -> None:
        self.share, self.rate = share, rate
        self.chance = random.Random(seed)
        self.pace, self.now, self.waiting, self.sent = Pace(), NOW, 0.0, 0.0

    def tick(self) -> None:
        """A tick: what arrived is sent as far as the pace allows, and answered at once."""
        self.now += RULE.tick
        self.waiting += self.rate * RULE.tick
        pace = self.pace
        if pace.phase is Phase.OPEN:
            sends = int(self.now >= pace.probe_at)
        else:
            self.sent = min(self.waiting, pace.rate * RULE.tick + self.sent % 1)
            sends = int(self.sent)
        failed = sum(self.chance.random() < self.share for _ in range(sends))
        self.waiting -= sends
        if pace.phase is Phase.OPEN and sends:
            self.pace = pace = probed(RULE, pace, now=self.now, waiting=1, draw=0.5)
        self.pace = step(
            RULE,
            pace,
            Seen(sends - failed, failed, took=0.02),
            now=self.now,
            waiting=int(self.waiting),
            draw=half,
        )


@pytest.mark.parametrize("rate", [4, 20, 100, 400])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_what_fails_by_chance_keeps_nothing_waiting_for_five_seconds(
    share: float, rate: float
) -> None:
    for seed in range(3):
        lane = Unreliable(share, rate, seed)
        for _ in range(round(60 / RULE.tick)):
            lane.tick()
            assert lane.waiting < max(5 * rate, 2)
        assert lane.pace.phase is not Phase.OPEN


# --- Open ---------------------------------------------------------------------------------------


def test_a_probe_that_passes_ramps_from_a_low_pace() -> None:
    pace = paced()
    assert (pace.phase, pace.mode, pace.epoch) == (Phase.PACED, Mode.CLIMB, 2)
    assert (pace.rate, pace.goal, pace.begun) == (RULE.first, None, NOW)


@pytest.mark.parametrize(
    ("capacity", "rate"), [(190.0, 95.0), (30.0, RULE.first), (8.0, 8.0), (1_000.0, 500.0)]
)
def test_a_remembered_capacity_is_a_head_start(capacity: float, rate: float) -> None:
    pace = paced(capacity)
    assert (pace.rate, pace.goal, pace.capacity) == (rate, capacity, capacity)


def test_how_long_failed_probes_took_says_nothing_about_an_endpoint_that_is_back() -> None:
    hung = told(down(), Seen(failed=1, took=15.0))
    assert told(hung, Seen(passed=1, took=0.05)).latency == 0.05


def test_a_success_sent_just_before_it_opened_counts_as_a_probe_that_passed() -> None:
    took = 2 + 0.9 * RULE.silence
    assert told(down(), Seen(late=1, took=took), now=NOW + 2).phase is Phase.PACED


def test_a_success_sent_long_before_it_opened_lets_the_first_probe_go_soon() -> None:
    older = Seen(late=1, took=2 + 1.1 * RULE.silence)
    now = NOW + 2
    waits = down().replace(probe_at=NOW + 300)
    hurried = told(waits, older, now=now)
    assert (hurried.phase, hurried.probe_at) == (Phase.OPEN, now + SHORTEST)
    assert told(waits.replace(held_until=now + 5), older, now=now).probe_at == now + 5
    failed = waits.replace(probes=1)
    assert told(failed, older, now=now).probe_at == failed.probe_at
    sooner = waits.replace(probe_at=now + 0.1)
    assert told(sooner, older, now=now).probe_at == sooner.probe_at


def test_a_lane_that_ends_its_backlog_with_failures_in_a_row_opens() -> None:
    failing = paced().replace(streak=RULE.failures)
    closed = told(failing, Seen(), waiting=0, now=NOW + 0.1)
    assert (closed.phase, closed.streak) == (Phase.CLOSED, RULE.failures)
    assert told(closed, Seen(), now=NOW + 1).phase is Phase.OPEN


def test_a_probe_that_fails_leaves_the_lane_open_and_its_plan_alone() -> None:
    pace = down()
    again = told(pace, Seen(failed=1), now=NOW + 1)
    assert (again.phase, again.probe_at) == (Phase.OPEN, pace.probe_at)


def test_a_wish_of_the_endpoint_moves_the_next_probe_and_no_more() -> None:
    pace = told(down(190.0), Seen(failed=1, retry_after=60.0), now=NOW + 1)
    assert pace.probe_at == pytest.approx(NOW + 1 + 60 * 1.05)
    ramping = told(pace, Seen(passed=1), now=NOW + 70)
    assert ramping.rate == 95.0
    assert told(down(), Seen(failed=1, retry_after=math.inf)).probe_at <= NOW + 1.1 * 3600


def test_a_wish_means_nothing_to_a_lane_at_work() -> None:
    for pace in (Pace(), paced(190.0)):
        with_wish = told(pace, Seen(passed=1, failed=1, retry_after=60.0))
        assert with_wish == told(pace, Seen(passed=1, failed=1))


# --- Paced --------------------------------------------------------------------------------------


def test_a_paced_lane_with_nothing_left_is_closed_and_remembers() -> None:
    pace = told(paced(190.0), Seen(passed=1), waiting=0)
    assert (pace.phase, pace.rate, pace.capacity) == (Phase.CLOSED, math.inf, 190.0)


def test_a_paced_lane_opens_again_only_after_a_longer_silence() -> None:
    pace = paced(190.0)
    gone = NOW + 2 + 3 / 95.0
    early = told(pace, Seen(failed=2), now=NOW + 0.1)
    assert told(early, Seen(failed=3), now=gone - 0.1, draw=never).phase is Phase.PACED
    pace = told(pace, Seen(failed=5), now=gone + 0.1)
    assert (pace.phase, pace.rate) == (Phase.OPEN, 0.0)


def test_a_lane_that_cannot_go_slower_opens_as_soon_as_nothing_passes_at_that_pace() -> None:
    slowest = paced().replace(rate=1.0, since=NOW + 3, latency=0.5)
    early = told(slowest, Seen(failed=5), now=NOW + 5.4, draw=never)
    assert early.phase is Phase.PACED  # not a full 2.5 s at this pace
    assert told(slowest, Seen(failed=5), now=NOW + 5.6).phase is Phase.OPEN
    faster = slowest.replace(rate=1.5)
    assert told(faster, Seen(failed=5), now=NOW + 9.9, draw=never).phase is Phase.PACED
    assert told(faster, Seen(failed=5), now=NOW + 10.1).phase is Phase.OPEN


def test_a_lane_that_cannot_go_slower_stays_paced_while_some_pass() -> None:
    slowest = paced().replace(rate=1.0, since=NOW, passed_at=NOW + 8.1, latency=0.0)
    assert told(slowest, Seen(failed=5), now=NOW + 10, draw=never).phase is Phase.PACED
    assert told(slowest, Seen(failed=5), now=NOW + 10.2).phase is Phase.OPEN


def test_a_pause_that_the_endpoint_asked_for_is_no_silence() -> None:
    held = paced(190.0).replace(held_until=NOW + 60)
    assert told(held, Seen(failed=9), now=NOW + 59, draw=never).phase is Phase.PACED
    assert told(held, Seen(failed=9), now=NOW + 61, draw=never).phase is Phase.PACED
    assert told(held, Seen(failed=9), now=NOW + 63).phase is Phase.OPEN


def test_an_endpoint_that_asks_for_pauses_at_the_slowest_pace_is_down() -> None:
    slowest = paced().replace(rate=1.0, since=NOW, latency=0.0, held_until=NOW + 60, streak=5)
    assert told(slowest, now=NOW + 10).phase is Phase.PACED
    assert told(slowest, Seen(), now=NOW + 10, draw=never).phase is Phase.PACED
    assert told(slowest, Seen(failed=1), now=NOW + 10).phase is Phase.OPEN


def test_failures_in_a_row_still_count_after_a_lane_was_paced_because_much_waits() -> None:
    pace = ramped(RULE, told(Pace(), *[Seen(failed=1)] * 4), now=NOW)
    assert (pace.phase, pace.streak) == (Phase.PACED, 4)
    assert told(pace, Seen(failed=1), now=NOW + 1).phase is Phase.OPEN
    assert ramped(RULE, told(down(), Seen(late=1, took=2.0)), now=NOW).streak == 0


def test_a_lane_that_opens_again_goes_on_with_the_old_outage() -> None:
    pace = told(down(190.0), Seen(passed=1, took=0.05), now=NOW + 500)
    probes = pace.replace(probes=40)
    again = told(probes, Seen(failed=5), now=NOW + 510)
    assert (again.phase, again.down_since, again.probes) == (Phase.OPEN, NOW, 40)
    assert again.probe_at - (NOW + 510) > 1.5  # an old outage, not a young one


def test_an_outage_of_a_lane_that_was_paced_because_much_waits_begins_with_that_pace() -> None:
    long_ago = Pace(down_since=NOW - 86_400, probes=40)  # an earlier outage, over since
    pace = ramped(RULE, long_ago, now=NOW)
    opens = told(pace, *[Seen(failed=1)] * 5, now=NOW + 10)
    assert (opens.phase, opens.down_since, opens.probes) == (Phase.OPEN, NOW, 0)
    assert opens.probe_at - (NOW + 10) < 30


def test_a_lane_does_not_make_moves_that_the_table_does_not_have() -> None:
    with pytest.raises(ValueError, match="a lane does not move from open to open"):
        opened(RULE, down(), now=NOW, waiting=1, draw=0.5)
    for pace in (paced(), paced(190.0)):
        with pytest.raises(ValueError, match="a lane does not move from paced to paced"):
            ramped(RULE, pace, now=NOW)


# --- Handing over -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_a_new_owner_knows_what_the_old_one_knew_but_not_what_is_in_the_air(mode: Mode) -> None:
    known = paced(190.0).replace(mode=mode, rate=80.0, baseline=0.05, streak=3)
    pace = handed_over(known, now=NOW + 9)
    assert (pace.capacity, pace.goal, pace.baseline, pace.rate) == (190.0, 190.0, 0.05, 80.0)
    assert (pace.phase, pace.mode, pace.epoch) == (Phase.PACED, Mode.CLIMB, known.epoch + 1)
    assert (pace.answered, pace.flow, pace.streak) == (Window(), Window(), 0)
    assert (pace.since, pace.begun, pace.passed_at) == (NOW + 9, NOW + 9, NOW + 9)


def test_a_new_owner_does_not_go_on_with_a_pace_that_is_in_doubt() -> None:
    doubted = paced(190.0).replace(mode=Mode.LOOK, rate=220.0)
    assert handed_over(doubted, now=NOW).rate == 190.0
    assert handed_over(doubted.replace(goal=None), now=NOW).rate == 220.0


def test_a_new_owner_of_an_open_lane_probes_when_the_old_one_would_have() -> None:
    known = down(190.0)
    pace = handed_over(known, now=NOW + 0.2)
    assert (pace.phase, pace.probe_at, pace.probes) == (Phase.OPEN, known.probe_at, 0)
    assert pace.down_since == NOW


# --- Properties ---------------------------------------------------------------------------------

reports = st.builds(
    Seen,
    passed=st.integers(0, 20) | st.integers(0, 1_000),
    failed=st.just(0) | st.integers(0, 20) | st.integers(0, 1_000),
    late=st.just(0) | st.integers(0, 20),
    took=st.floats(0.001, 20),
    retry_after=st.none() | st.floats(0, 1e9),
)
moments = st.tuples(
    st.just(0.05) | st.floats(0.001, 10),
    st.lists(reports, min_size=1, max_size=3),
    st.integers(1, 12),
    st.integers(0, 3) | st.just(WAITING),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from([False, False, False, False, True]),
)


def sane(pace: Pace, before: Pace) -> None:
    """What holds after every step, whatever was seen."""
    assert pace.epoch >= before.epoch
    assert pace.phase is before.phase or pace.phase in MOVES[before.phase]
    assert 0 <= pace.baseline <= BELIEVABLE
    assert 0 <= pace.most <= BELIEVABLE
    if pace.phase is Phase.CLOSED:
        assert pace.rate == math.inf
    elif pace.phase is Phase.OPEN:
        assert pace.rate == 0
        assert pace.probe_at > before.down_since
    else:
        assert 0.5 <= pace.rate < math.inf
        assert pace.room() >= 4
    for share in (pace.goal, pace.capacity):
        assert share is None or 1 <= share < math.inf
    assert not any(
        isinstance(found, float) and math.isnan(found)
        for found in (getattr(pace, field) for field in Pace.__fields__)
    )


@given(st.none() | st.floats(1, 10_000), st.lists(moments, max_size=25))
def test_whatever_is_seen_the_state_stays_sane_and_each_step_is_pure(
    capacity: float | None,
    story: list[tuple[float, list[Seen], int, int, float, bool]],
) -> None:
    pace, now = Pace(capacity=capacity), NOW
    for later, seen, times, waiting, drawn, gone in story:
        for number in range(times):
            now += later
            report, draw = seen[number % len(seen)], partial(float, drawn)
            after = step(RULE, pace, report, now=now, waiting=waiting, draw=draw)
            thawed = pickle.loads(pickle.dumps(pace))  # noqa: S301  our own bytes
            again = step(RULE, thawed, report, now=now, waiting=waiting, draw=draw)
            assert again == after
            sane(after, pace)
            pace = after
        if gone:
            after = handed_over(pace, now=now)
            sane(after, pace)
            pace = after


@given(
    st.none() | st.floats(1, 10_000),
    st.lists(st.integers(1, 200), min_size=1, max_size=60),
    st.floats(0.001, 5),
)
def test_while_all_is_well_the_pace_never_falls(
    capacity: float | None, passes: list[int], took: float
) -> None:
    pace, now = paced(capacity), NOW
    for passed in passes:
        now += RULE.tick
        after = told(pace, Seen(passed=passed, took=took), now=now, draw=never)
        assert after.mode is Mode.CLIMB
        assert pace.rate <= after.rate <= 1.6 * pace.rate
        assert after.baseline == 0
        pace = after


# --- What must never wedge ----------------------------------------------------------------------


def test_a_lane_that_is_paced_for_long_and_goes_down_has_a_young_outage() -> None:
    gone = paced(capacity=100.0).replace(down_since=NOW - 9_000, streak=9, passed_at=NOW)
    later = told(gone, Seen(failed=1), now=NOW + RULE.span + 60)
    assert (later.phase, later.down_since) == (Phase.OPEN, NOW + RULE.span + 60)
    soon = told(gone, Seen(failed=1), now=NOW + 60)
    assert (soon.phase, soon.down_since) == (Phase.OPEN, NOW - 9_000)


def test_a_lane_that_goes_down_in_the_midst_of_a_drain_is_approached_more_gently() -> None:
    gone = paced(capacity=100.0).replace(streak=9, passed_at=NOW)
    assert told(gone, Seen(failed=1), now=NOW + 60).capacity == pytest.approx(80)
    unknown = paced().replace(streak=9, passed_at=NOW)
    assert told(unknown, Seen(failed=1), now=NOW + 60).capacity is None


def test_failures_that_come_late_open_a_lane_too() -> None:
    hanging = paced(capacity=100.0).replace(passed_at=NOW)
    pace = told(hanging, *[Seen(missed=2, took=15.0)] * 3, now=NOW + 60)
    assert pace.phase is Phase.OPEN


def test_a_memory_of_next_to_nothing_is_no_reason_to_stand_still() -> None:
    assert paced(capacity=0.01).goal == 1.0


def test_a_new_owner_whose_clock_is_behind_waits_no_longer_than_an_endpoint_may_ask() -> None:
    far = handed_over(Pace(phase=Phase.OPEN, probe_at=NOW + 1e9, held_until=NOW + 1e9), now=NOW)
    assert far.probe_at == far.held_until == pytest.approx(NOW + 3_960)
    near = handed_over(Pace(phase=Phase.OPEN, probe_at=NOW + 5, held_until=NOW + 6), now=NOW)
    assert (near.probe_at, near.held_until) == (NOW + 5, NOW + 6)
