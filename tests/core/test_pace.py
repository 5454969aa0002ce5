import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.pace import (
    FADING,
    MOVES,
    REMEMBERED,
    Mode,
    Pace,
    PacerRule,
    Phase,
    Sample,
    Seen,
    counted,
)
from tarry.core.value import Value
from tarry.core.window import SLICES
from tarry.errors import PolicyError

NOW = 100.0


def after(*reports: tuple[float, Seen], pace: Pace | None = None) -> Pace:
    """What a lane knows after these reports, each at its time."""
    known = Pace() if pace is None else pace
    for now, seen in reports:
        known = counted(known, seen, now)
    return known


# --- The values ---------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [PacerRule(), Seen(passed=3, retry_after=2.0), Pace()])
def test_rules_reports_and_states_are_frozen_and_survive_a_pickle(value: Value) -> None:
    with pytest.raises(AttributeError, match="is frozen"):
        setattr(value, type(value).__fields__[0], 1)
    again = pickle.loads(pickle.dumps(value))  # noqa: S301  our own bytes
    assert again == value
    assert hash(again) == hash(value)


def test_a_new_lane_is_closed_and_sends_as_fast_as_it_likes() -> None:
    assert Pace().phase is Phase.CLOSED
    assert Pace().rate == math.inf


def test_moves_name_every_phase_and_lead_only_where_they_can() -> None:
    assert MOVES[Phase.CLOSED] == {Phase.OPEN, Phase.PACED}
    assert MOVES[Phase.OPEN] == {Phase.PACED}
    assert MOVES[Phase.PACED] == {Phase.CLOSED, Phase.OPEN}
    assert set(Mode) == {Mode.CLIMB, Mode.LOOK, Mode.TEST, Mode.SETTLE}


def test_late_answers_do_not_speak_for_the_present_pace() -> None:
    assert Seen(passed=2, failed=3, late=4).judged == 5


# --- Counting -----------------------------------------------------------------------------------


def test_nothing_seen_changes_nothing() -> None:
    known = after((NOW, Seen(passed=1, took=0.1)))
    assert counted(known, Seen(retry_after=3.0), NOW + 1) is known


def test_answers_count_for_a_second() -> None:
    known = after((NOW, Seen(passed=3, failed=1)), (NOW + 0.5, Seen(passed=2, failed=2)))
    assert known.recent(NOW + 0.5) == (5, 3)
    assert known.recent(NOW + 0.5, slices=1) == (2, 2)
    assert known.recent(NOW + 1.01) == (2, 2)
    assert known.recent(NOW + 1.51) == (0, 0)


def test_late_passes_count_as_work_done_but_not_for_the_pace() -> None:
    known = after((NOW, Seen(late=4)))
    assert known.recent(NOW) == (0, 0)
    assert known.accepted(NOW) == 4 * 4  # four in a quarter of a second
    assert known.top == 4


def test_offers_are_measured_over_the_time_there_was() -> None:
    known = after((NOW, Seen(passed=5, failed=5)), pace=Pace(begun=NOW - 0.5))
    assert known.offered(NOW) == 20
    assert known.replace(begun=NOW - 60).offered(NOW) == 10
    assert known.replace(latency=0.25).offered(NOW) == 40
    assert known.replace(begun=NOW).offered(NOW) == 100  # never over less than a tenth


def test_the_most_that_passed_fades() -> None:
    known = after((NOW, Seen(passed=100)))
    assert known.best(NOW) == 100
    assert known.best(NOW + FADING) == pytest.approx(100 / math.e)
    assert known.best(NOW - 5) == 100  # a clock that steps back fades nothing
    later = after((NOW + FADING, Seen(passed=1)), pace=known)
    assert later.top == pytest.approx(100 / math.e)


def test_a_run_ends_with_a_failure_and_a_streak_with_a_success() -> None:
    known = after((NOW, Seen(passed=2)), (NOW, Seen(passed=3)))
    assert (known.run, known.streak, known.passed_at) == (5, 0, NOW)
    known = after((NOW + 1, Seen(failed=2)), (NOW + 2, Seen(failed=1)), pace=known)
    assert (known.run, known.streak, known.passed_at) == (0, 3, NOW)
    assert after((NOW, Seen(passed=4, failed=1))).run == 0
    known = after((NOW + 3, Seen(late=1, failed=4)), pace=known)
    assert (known.run, known.streak, known.passed_at) == (0, 0, NOW + 3)


def test_latency_rises_at_once_and_falls_slowly() -> None:
    known = after((NOW, Seen(passed=1, took=0.2)), (NOW, Seen(passed=1, took=1.0)))
    assert known.latency == 1.0
    assert after((NOW, Seen(passed=1, took=0.1)), pace=known).latency == 0.9


def test_what_is_usual_is_an_average_over_a_while() -> None:
    known = after((NOW, Seen(passed=1, took=0.2)))
    assert known.usual == 0.2
    assert after((NOW + 6, Seen(passed=1, took=0.1)), pace=known).usual == pytest.approx(0.19)
    assert after((NOW + 6, Seen(passed=1, took=0.4)), pace=known).usual == pytest.approx(0.22)
    assert after((NOW + 99, Seen(passed=1, took=0.4)), pace=known).usual == pytest.approx(0.4)
    assert after((NOW - 1, Seen(passed=1, took=0.4)), pace=known).usual == 0.2


def test_a_quick_failure_says_nothing_of_how_long_a_pass_takes() -> None:
    known = after((NOW, Seen(passed=1, took=0.4)), (NOW + 5, Seen(failed=1, took=0.005)))
    assert known.usual == 0.4
    assert after((NOW + 5, Seen(missed=1, took=0.005)), pace=known).usual == 0.4


def test_late_failures_count_as_failures_but_not_against_the_pace() -> None:
    known = after((NOW, Seen(missed=3, took=15.0)))
    assert (known.streak, known.latency) == (3, 15.0)
    assert known.recent(NOW) == (0, 0)
    assert known.replace(begun=NOW - 1).offered(NOW) > 0


def test_a_lane_is_busy_if_it_sends_about_what_it_may() -> None:
    sent = after((NOW, Seen(passed=10)))
    assert sent.replace(rate=80.0).busy(NOW)
    assert not sent.replace(rate=81.0).busy(NOW)
    assert sent.replace(rate=20.0).busy(NOW + 0.9)
    assert not sent.replace(rate=21.0).busy(NOW + 0.9)


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("failures", 0, "a whole number, 1 or more"),
        ("silence", -1, "a number of seconds from 0"),
        ("allowance", 2, "a number from 0 to 1"),
        ("least_probes", 9, "a whole number, 10 or more"),
        ("span", 0, "a number of seconds above 0"),
        ("first", 0, "a number above 0"),
        ("head_start", 1.1, "a number from 0 to 1"),
        ("growth", 1, "a number above 1"),
        ("hold", 0, "a number of seconds above 0"),
        ("longest_hold", math.inf, "a number of seconds above 0"),
        ("creep", 0, "a number above 0"),
        ("tick", 0, "a number of seconds above 0"),
        ("probe", 1, "ProbeRule"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(field: str, value: float, wanted: str) -> None:
    with pytest.raises(PolicyError, match=wanted) as refused:
        PacerRule(**{field: value})  # type: ignore[arg-type]
    assert refused.value.field == f"pacer.{field}"


@pytest.mark.parametrize(
    ("rate", "latency", "room"),
    [(1.0, 0.0, 4), (200.0, 0.0, 20), (200.0, 0.05, 20), (200.0, 1.0, 400), (10.1, 1.0, 21)],
)
def test_there_is_room_for_twice_what_is_on_its_way(rate: float, latency: float, room: int) -> None:
    assert Pace(rate=rate, latency=latency).room() == room


reports = st.lists(
    st.tuples(
        st.floats(0, 2),
        st.builds(
            Seen,
            passed=st.integers(0, 50),
            failed=st.integers(0, 50),
            late=st.integers(0, 50),
            took=st.floats(0, 20),
        ),
    ),
    max_size=30,
)


@given(reports)
def test_counts_are_those_of_the_last_second_to_a_slice(spaced: list[tuple[float, Seen]]) -> None:
    now, known, history = NOW, Pace(), []
    for later, seen in spaced:
        now += later
        known = counted(known, seen, now)
        history.append((now, seen))
    slot = int(now * SLICES)
    inside = [seen for at, seen in history if slot - int(at * SLICES) < SLICES]
    assert known.recent(now) == (sum(s.passed for s in inside), sum(s.failed for s in inside))
    passed = sum(s.passed + s.late for s in inside)
    assert known.top >= passed * (1 - 1e-12)
    assert known.best(now) <= known.top
    assert known.offered(now) >= sum(s.judged + s.late for s in inside)


def test_what_was_spared_was_sent_and_served_but_speaks_for_nothing_else() -> None:
    lane = Pace(phase=Phase.PACED, rate=10.0, begun=NOW - 9, passed_at=NOW - 5, streak=2)
    pace = after((NOW, Seen(spared=8)), pace=lane)
    assert (pace.offered(NOW), pace.recent(NOW)) == (8, (0, 0))
    assert (pace.streak, pace.passed_at, pace.run) == (2, NOW - 5, 0)
    assert pace.busy(NOW)
    learned = after((NOW, Seen(spared=8)), pace=lane.replace(baseline=0.5))
    assert learned.accepted(NOW) * 0.25 == 4, "half of them, as of what passed"


# --- The answers to a closed lane ---------------------------------------------------------------


def test_a_sample_knows_its_share_of_failures() -> None:
    assert Sample().share == 0
    assert Sample(1, 1).add(2, 0) == Sample(3, 1)
    assert (Sample(3, 1).answers, Sample(3, 1).share) == (4, 0.25)


@given(st.integers(0, 100_000), st.integers(0, 100_000))
def test_a_sample_with_too_many_answers_is_scaled_down_and_keeps_its_share(
    passed: int, failed: int
) -> None:
    sample = Sample(passed, failed)
    faded = sample.faded(REMEMBERED)
    if sample.answers <= REMEMBERED:
        assert faded == sample
    else:
        assert REMEMBERED / 2 - 2 <= faded.answers <= REMEMBERED / 2
        assert faded.share == pytest.approx(sample.share, abs=0.02)


def test_a_closed_lane_counts_its_failures_once_an_answer_has_passed_after_them() -> None:
    failing = after((NOW, Seen(failed=3)), (NOW, Seen(failed=2)))
    assert failing.history == Sample()
    assert after((NOW, Seen(passed=1)), pace=failing).history == Sample(1, 5)
    assert after((NOW, Seen(late=1)), pace=failing).history == Sample(0, 5)


def test_a_lane_that_is_not_closed_leaves_its_history_alone() -> None:
    for phase in (Phase.OPEN, Phase.PACED):
        pace = Pace(phase=phase, rate=20.0, history=Sample(8, 2))
        assert after((NOW, Seen(passed=5, failed=5)), pace=pace).history == Sample(8, 2)
