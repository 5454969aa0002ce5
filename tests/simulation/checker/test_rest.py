"""A service with nothing to deliver goes to rest, and no process crashes."""

from tests.simulation.checker.hand_made import rules
from tests.simulation.log import Crashed, Rested


def test_a_service_that_polls_is_noticed() -> None:
    calls = {"renew": 100, "woken": 30}
    few, many = {"renew": 90.0, "woken": 40.0}, {"renew": 110.0, "woken": 40.0}
    assert rules([Rested(at=90, seconds=30, calls=calls, most=few)]) == {"no rest"}
    assert rules([Rested(at=90, seconds=30, calls=calls, most=many)]) == set()


def test_a_service_that_keeps_reading_is_noticed() -> None:
    assert rules([Rested(at=90, seconds=30, calls={"fetch": 9}, most={})]) == {"no rest"}


def test_an_exception_that_nothing_caught_is_noticed() -> None:
    assert rules([Crashed(5, "worker 0", "KeyError(3)")]) == {"crashed"}
