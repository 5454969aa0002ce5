"""What lanes saw: several speak for their origin, fewer for themselves."""

from tarry.service.dispatch.evidence import NO_FAILURES, NO_REFUSALS, SEVERAL
from tarry.service.dispatch.gate import RULE


def test_failures_of_several_lanes_are_the_trouble_of_all() -> None:
    failures = NO_FAILURES
    for lane in range(SEVERAL):
        assert not failures.of_all
        failures = failures.add(lane, unreachable=False)
    assert failures.of_all


def test_one_lane_alone_does_not_speak_for_all_however_often_it_fails() -> None:
    failures = NO_FAILURES
    for _ in range(100):
        failures = failures.add(1, unreachable=False)
    assert failures.many
    assert not failures.of_all


def test_if_nobody_is_there_one_lane_is_enough() -> None:
    failures = NO_FAILURES
    for _ in range(RULE.failures):
        assert not failures.of_all
        assert not failures.many
        failures = failures.add(1, unreachable=True)
    assert failures.of_all
    assert failures.many


def test_no_more_lanes_are_kept_than_speak_for_all() -> None:
    failures = NO_FAILURES
    for lane in range(1000):
        failures = failures.add(lane, unreachable=False)
    assert failures.lanes == set(range(SEVERAL))
    assert failures.count == 1000


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
