"""What failed: several lanes speak for their application, and several applications for all."""

import math

import pytest

from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.origins.evidence import NO_FAILURES, NO_REFUSALS, SEVERAL, Failures
from tarry.testing.samples import NOON


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
    assert failures.counted_anew() == Failures(since=NOON)


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
        found.append(failures.is_news(before))
    assert found == news


def test_a_refusal_is_meant_for_all_once_several_lanes_are_refused() -> None:
    refusals = NO_REFUSALS.add(1).add(1)
    assert not refusals.is_news
    refusals = refusals.add(2)
    assert refusals.is_news
    assert not refusals.of_all
    assert refusals.add(3).of_all


def test_who_was_refused_before_somebody_passed_is_refused_alone_until_it_is_taken() -> None:
    refusals = NO_REFUSALS.add(1).add(2).passed([1, 2])
    assert not refusals.lanes
    assert refusals.own == {1, 2}
    assert refusals.taken(1).own == {2}
    assert refusals.taken(7) is refusals
    assert not refusals.opened().own


def test_a_failure_between_refusals_begins_them_anew() -> None:
    refusals = NO_REFUSALS.add(1).passed([1]).add(2).failed()
    assert not refusals.lanes
    assert refusals.own == {1}
