"""When an endpoint that takes nothing has its owner warned, and when it is parked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.dispatch.lane.parking import begun_anew, failed, stage, taken
from tarry.service.model.lane import Known
from tarry.service.model.settings import DAY, HOUR, Parking
from tarry.testing.samples import NOON

RULE = Parking()


def failing(lasted: float, failures: int = 5, rule: Parking = RULE) -> float:
    """How far an endpoint has come that has been failing for so long."""
    known = Known(failing_since=NOON, failures=failures)
    return stage(known, rule, now=NOON + lasted)


@pytest.mark.parametrize(
    ("days", "passed"),
    [
        (0, 0.0),
        (2.49, 0.0),
        (2.5, 0.5),
        (3.74, 0.5),
        (3.75, 0.75),
        (4.49, 0.75),
        (4.5, 0.9),
        (4.99, 0.9),
        (5.0, 1.0),
        (50.0, 1.0),
    ],
)
def test_five_days_without_a_success_park_it_with_three_warnings_on_the_way(
    days: float, passed: float
) -> None:
    assert failing(days * DAY) == passed


def test_few_failures_are_no_reason_however_long_they_last() -> None:
    assert failing(50 * DAY, failures=4) == 0.0
    assert failing(50 * DAY, failures=5) == 1.0


def test_one_that_never_failed_is_well() -> None:
    assert stage(Known(), RULE, now=NOON) == 0.0
    assert stage(Known(failures=9), RULE, now=NOON) == 0.0


def test_a_short_rule_warns_and_parks_nobody_before_the_failures_have_lasted() -> None:
    short = Parking(after=HOUR, over=12 * HOUR)
    assert failing(12 * HOUR - 1, rule=short) == 0.0
    assert failing(12 * HOUR, rule=short) == 1.0


def test_warnings_may_be_left_out_or_given_in_any_order() -> None:
    assert failing(4.9 * DAY, rule=Parking(warn=())) == 0.0
    assert failing(4.9 * DAY, rule=Parking(warn=(0.9, 0.1))) == 0.9


def test_the_first_failure_begins_it_and_those_after_it_only_count() -> None:
    once = failed(Known(), NOON)
    twice = failed(once, NOON + 60)
    assert (once.failing_since, once.failures) == (NOON, 1)
    assert (twice.failing_since, twice.failures) == (NOON, 2)


def test_one_success_clears_it_and_the_warnings_too() -> None:
    known = Known(pace=b"{}", origin="o", failing_since=NOON, failures=9, warned=0.75)
    cleared = taken(known, NOON + 5)
    assert cleared == Known(pace=b"{}", origin="o", accepted_at=NOON + 5)
    assert stage(cleared, RULE, now=NOON + 50 * DAY) == 0.0


def test_to_begin_anew_forgets_the_failures_and_nothing_else() -> None:
    known = Known(pace=b"{}", accepted_at=NOON, failing_since=NOON, failures=9, warned=1.0)
    assert begun_anew(known) == Known(pace=b"{}", accepted_at=NOON)


@given(
    lasted=st.lists(st.floats(0, 20 * DAY), min_size=2, max_size=2).map(sorted),
    failures=st.integers(0, 10),
    after=st.floats(0, 10 * DAY),
    over=st.floats(0, 10 * DAY),
    warn=st.lists(st.floats(0, 1, exclude_min=True, exclude_max=True), max_size=4),
)
def test_time_alone_never_leads_back(
    lasted: list[float], failures: int, after: float, over: float, warn: list[float]
) -> None:
    rule = Parking(after=after, over=over, warn=tuple(warn))
    sooner, later = (failing(seconds, failures, rule) for seconds in lasted)
    assert sooner <= later
    assert {sooner, later} <= {0.0, 1.0, *warn}
