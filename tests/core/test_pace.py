import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.pace import FADING, MOVES, Mode, Pace, PacerRule, Phase, Seen, counted
from tarry.core.value import Value
from tarry.core.window import SLICES

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
    assert (known.latency, known.quickest) == (1.0, 0.2)
    assert after((NOW, Seen(passed=1, took=0.1)), pace=known).latency == 0.9
    assert after((NOW, Seen(passed=1, took=0.1)), pace=known).quickest == 0.1


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
