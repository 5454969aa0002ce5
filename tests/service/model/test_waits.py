"""The table of waits names every reason to wait once, and no ending."""

from tarry.service.explain import waits
from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Known, LaneRow
from tarry.service.model.waits import WAITS, End, Holder
from tarry.testing.samples import NOON, an_application, an_endpoint

ENDINGS = {
    Reason.DELIVERED,
    Reason.REFUSED,
    Reason.EXHAUSTED,
    Reason.AGED,
    Reason.GONE,
    Reason.ABORTED,
    Reason.EXPUNGED,
    Reason.SKIPPED,
    Reason.CANCELLED,
    Reason.DISCARDED,
}


def test_every_reason_is_a_wait_or_an_ending() -> None:
    assert set(WAITS) | ENDINGS == set(Reason)
    assert not set(WAITS) & ENDINGS


def test_a_delivery_that_waits_for_a_time_has_one() -> None:
    row = LaneRow(
        endpoint=an_endpoint(an_application(), lane=7), application=an_application(), known=Known()
    )
    for reason in (Reason.BACKOFF, Reason.SCHEDULED):
        delivery = Delivery(
            lane=7,
            seq=1,
            message="msg_1",
            state=State.WAITING,
            reason=reason,
            accepted_at=NOON,
            due_at=NOON + 5,
        )
        assert WAITS[reason].end is End.TIME
        assert waits(delivery, row, now=NOON) == (reason, NOON + 5)


def test_only_a_person_ends_what_an_endpoints_owner_began() -> None:
    ended_by_people = {reason for reason, wait in WAITS.items() if wait.end is End.PERSON}
    assert ended_by_people == {
        reason for reason, wait in WAITS.items() if wait.holder is Holder.ENDPOINT
    }
    for standing in (Standing.PAUSED, Standing.DISABLED, Standing.PARKED):
        endpoint = an_endpoint(an_application(), lane=7, standing=standing)
        row = LaneRow(endpoint=endpoint, application=an_application(), known=Known())
        ready = Delivery(lane=7, seq=1, message="msg_1", accepted_at=NOON)
        reason, next_at = waits(ready, row, now=NOON)
        assert reason in ended_by_people
        assert next_at is None
