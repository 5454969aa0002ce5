"""A service with nothing to deliver goes to rest, and no process crashes."""

import pytest

from tests.simulation.checker.hand_made import rules
from tests.simulation.log import Crashed, Fault, Rested


def test_a_service_that_polls_is_noticed() -> None:
    calls = {"renew": 100, "woken": 30}
    few, many = {"renew": 90.0, "woken": 40.0}, {"renew": 110.0, "woken": 40.0}
    assert rules([Rested(at=90, seconds=30, calls=calls, most=few)]) == {"no rest"}
    assert rules([Rested(at=90, seconds=30, calls=calls, most=many)]) == set()


def test_a_service_that_keeps_reading_is_noticed() -> None:
    assert rules([Rested(at=90, seconds=30, calls={"fetch": 9}, most={})]) == {"no rest"}


@pytest.mark.parametrize(
    ("rested_at", "broken"),
    [(64.0, {"no rest"}), (66.0, set()), (101.0, set()), (110.0, {"no rest"})],
)
def test_outcomes_that_were_refused_are_written_a_minute_later(
    rested_at: float, broken: set[str]
) -> None:
    poison = Fault(at=5, until=30, kind="poison", message="msg_1")
    rested = Rested(at=rested_at, seconds=10, calls={"renew": 9}, most={})
    assert rules([poison, rested]) == broken


def test_an_exception_that_nothing_caught_is_noticed() -> None:
    assert rules([Crashed(5, "worker 0", "KeyError(3)")]) == {"crashed"}
