"""Attempts and settlements, as they are unless more is said."""

from tarry.service.model.attempt import Attempt, Settlement, Trigger
from tarry.service.model.delivery import Reason, State


def test_an_attempt_is_scheduled_and_counts() -> None:
    attempt = Attempt(
        id="atmpt_1", lane=1, message="msg_1", number=1, at=5.0, took=0.5, url="https://a.example"
    )
    assert attempt.trigger is Trigger.SCHEDULED
    assert attempt.counted
    assert (attempt.status, attempt.kind) == (None, None)


def test_a_settlement_may_come_without_an_attempt() -> None:
    settlement = Settlement(
        lane=1, seq=1, tries=0, state=State.FAILED, reason=Reason.EXPUNGED, attempts=0
    )
    assert settlement.attempt is None
