"""What failed: several lanes speak for their application, and several applications for all."""

import math
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.origins.evidence import (
    NO_ANSWERS,
    NO_FAILURES,
    SEVERAL,
    Evidence,
    Failures,
)
from tarry.testing.samples import NOON

if TYPE_CHECKING:
    from tarry.service.dispatch.origins.member import Member


def failed(
    failures: Failures,
    lane: int = 1,
    application: str = "a",
    *,
    unreachable: bool = False,
    now: float = NOON,
) -> Failures:
    return failures.add(lane, application, unreachable=unreachable, now=now)


def test_lanes_of_one_application_speak_for_that_and_not_for_all() -> None:
    failures = NO_FAILURES
    for lane in range(SEVERAL):
        assert not failures.of_several_lanes
        failures = failed(failures, lane)
    assert failures.of_several_lanes
    assert not failures.of_several_applications
    assert not failures.nobody_there


def test_several_applications_speak_for_all() -> None:
    failures = NO_FAILURES
    for application in "abc":
        assert not failures.of_several_applications
        failures = failed(failures, 1, application)
    assert failures.of_several_applications


def test_one_lane_alone_speaks_for_nobody_however_often_it_fails() -> None:
    failures = NO_FAILURES
    for _ in range(100):
        failures = failed(failures)
    assert failures.many
    assert not failures.of_several_lanes


def test_if_no_connection_can_be_made_one_lane_is_enough() -> None:
    failures = NO_FAILURES
    for _ in range(RULE.failures):
        assert not failures.nobody_there
        assert not failures.many
        failures = failed(failures, unreachable=True)
    assert failures.nobody_there
    assert failures.many


def test_any_answer_shows_that_somebody_is_there() -> None:
    failures = NO_FAILURES
    for _ in range(RULE.failures - 1):
        failures = failed(failures, unreachable=True)
    failures = failed(failures)
    for _ in range(RULE.failures - 1):
        failures = failed(failures, unreachable=True)
        assert not failures.nobody_there
    assert failed(failures, unreachable=True).nobody_there
    assert failures.reached().unreachable == 0
    assert failures.reached().count == failures.count


def test_no_more_are_kept_than_are_enough() -> None:
    failures = NO_FAILURES
    for lane in range(1000):
        failures = failed(failures, lane, f"app_{lane}")
    assert failures.lanes == set(range(SEVERAL))
    assert len(failures.applications) == len(failures.answered) == SEVERAL
    assert failures.count == 1000


def test_it_is_known_since_when_nothing_passed_also_when_they_are_counted_anew() -> None:
    assert NO_FAILURES.since == math.inf
    failures = failed(failed(NO_FAILURES), now=NOON + 5)
    assert failures.since == NOON
    assert failures.reset() == Failures(since=NOON)


@pytest.mark.parametrize(
    ("told", "news"),
    [
        ([("a", False)], [True]),
        ([("a", False), ("a", False)], [True, False]),
        ([("a", False), ("b", False)], [True, True]),
        ([("a", False), ("b", False), ("c", False)], [True, True, False]),
        ([("a", True)], [False]),
        ([("a", False), ("a", True), ("a", False)], [True, False, True]),
    ],
)
def test_an_answer_is_news_until_several_applications_had_one(
    told: list[tuple[str, bool]], news: list[bool]
) -> None:
    failures, found = NO_FAILURES, []
    for application, unreachable in told:
        before, failures = failures, failed(failures, 1, application, unreachable=unreachable)
        found.append(failures.is_first_of_application(before))
    assert found == news


# --- All evidence of one level ------------------------------------------------------------------


class OneLane(NamedTuple):
    """As much of a lane as its failure tells of it."""

    number: int
    tenant: str


def evidence(*, of_group: bool = True) -> Evidence:
    """Evidence of a level where nothing has passed for a long time."""
    return Evidence(of_group=of_group, now=NOON - 600)


def add(found: Evidence, *lanes: tuple[int, str], unreachable: bool = False) -> None:
    """Count one failure of each lane of these applications."""
    for number, application in lanes:
        lane = cast("Member", OneLane(number, application))
        found.add_failure(lane, unreachable=unreachable, now=NOON)


OF_ONE = [(number, "app_1") for number in range(RULE.failures)]
OF_SEVERAL = [(number, f"app_{number}") for number in range(RULE.failures)]


@pytest.mark.parametrize(
    ("of_group", "lanes", "unreachable", "is_down"),
    [
        (True, OF_ONE, False, True),
        (True, OF_ONE[:-1], False, False),
        (True, [(1, "app_1")] * RULE.failures, False, False),
        (True, [(1, "app_1")] * RULE.failures, True, False),
        (False, OF_ONE, False, False),
        (False, OF_ONE, True, True),
        (False, OF_SEVERAL, False, True),
    ],
)
def test_several_lanes_prove_it_of_a_group_and_several_applications_or_no_connection_of_all(
    *, of_group: bool, lanes: list[tuple[int, str]], unreachable: bool, is_down: bool
) -> None:
    found = evidence(of_group=of_group)
    add(found, *lanes, unreachable=unreachable)
    assert found.is_down(NOON) is is_down
    assert found.cannot_connect(NOON) is unreachable
    found.passed(NOON, ())
    assert not found.is_down(NOON)


def test_shortly_after_a_success_nothing_is_proved() -> None:
    found = evidence()
    found.assume_success(NOON)
    add(found, *OF_ONE, unreachable=True)
    for now, proved in ((NOON + RULE.silence - 0.01, False), (NOON + RULE.silence + 0.01, True)):
        assert found.is_down(now) is proved
        assert found.cannot_connect(now) is proved


def test_at_a_new_origin_failures_prove_it_at_once() -> None:
    found = Evidence(of_group=True, now=NOON)
    assert not found.is_new_refusal
    add(found, *OF_ONE)
    assert found.is_down(NOON + 0.01)


def test_a_success_is_kept_in_mind_and_failures_before_it_prove_nothing() -> None:
    found = evidence()
    add(found, *OF_ONE)
    assert not found.has_passed_since(NOON)
    found.passed(NOON, ())
    assert found.has_passed_since(NOON)
    assert not found.has_passed_since(NOON + 1)
    assert not found.is_down(NOON + 600)
    assert found.failures is NO_FAILURES


def test_failures_that_are_counted_anew_prove_nothing_but_since_when_there_are_some() -> None:
    found = evidence()
    add(found, *OF_ONE)
    found.reset_failures()
    assert not found.is_down(NOON)
    assert found.fails_since_before(NOON + 1)
    assert not found.fails_since_before(NOON)


def test_who_failed_before_others_passed_fails_alone() -> None:
    found = evidence()
    add(found, *OF_ONE[:-1])
    assert not found.fails_alone(NOON + 1, RULE.failures)
    add(found, OF_ONE[-1])
    assert found.fails_alone(NOON + 1, RULE.failures)
    assert not found.fails_alone(NOON + 1, RULE.failures + 1)
    assert not found.fails_alone(NOON, RULE.failures)


def test_an_answer_ends_a_row_of_attempts_that_could_not_connect() -> None:
    found = evidence(of_group=False)
    add(found, *OF_ONE, unreachable=True)
    found.reached()
    assert not found.cannot_connect(NOON)


def test_failures_are_kept_in_mind_only_between_successes() -> None:
    found = evidence()
    found.add_success(0)
    assert found.history is NO_ANSWERS
    found.add_success(2)
    found.add_success(0)
    assert (found.history.passed, found.history.failed) == (2, 2)


def test_all_wait_as_soon_as_several_were_asked_to_until_the_first_of_them_may_go() -> None:
    found = evidence()
    assert found.hold(1, NOON + 30, NOON) is None
    assert found.hold(2, NOON + 20, NOON) is None
    assert found.hold(3, NOON + 40, NOON) == NOON + 20
    assert found.hold(4, NOON + 50, NOON + 20) == NOON + 30  # the second does not wait any more
    found.passed(NOON + 21, ())
    assert found.hold(5, NOON + 60, NOON + 21) is None


def test_a_refusal_is_meant_for_all_once_several_lanes_are_refused() -> None:
    found = evidence()
    for lane, is_new in ((1, True), (1, False), (2, True)):
        found.add_refusal(lane)
        assert found.is_new_refusal is is_new
        assert not found.refuses_all
    found.add_refusal(3)
    assert found.refuses_all
    assert [found.refuses(lane) for lane in (1, 4)] == [True, False]


def test_who_was_refused_before_somebody_passed_is_refused_alone_until_it_is_taken() -> None:
    found = evidence()
    found.passed(NOON, [5])
    assert not found.refused_alone, "nobody was refused"
    for lane in (1, 2):
        found.add_refusal(lane)
    found.passed(NOON, [1, 2])
    assert not found.refused
    assert found.refused_alone == {1, 2}
    found.forget_refusal(1)
    found.forget_refusal(7)
    assert found.refused_alone == {2}
    found.gate_opened()
    assert not found.refused_alone


def test_a_failure_between_refusals_begins_them_anew() -> None:
    found = evidence()
    found.add_refusal(1)
    found.passed(NOON, [1])
    found.add_refusal(2)
    found.drop_refusals()
    assert not found.refused
    assert found.refused_alone == {1}
