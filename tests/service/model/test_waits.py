"""The table of waits names every reason to wait once, and no ending. Its numbers are true."""

from tarry.core.probe_rule import ProbeRule
from tarry.service.dispatch.lane.allowance import FIRST, RETRY_PAUSE, RETRY_RULE
from tarry.service.dispatch.outcomes.judge import HOLD_SPREAD
from tarry.service.dispatch.settling.writer import REFUSED_AGAIN_AFTER
from tarry.service.explain import waits
from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Known, LaneRow
from tarry.service.model.settings import DELIVERY, Limits
from tarry.service.model.waits import OTHER_WAITS, WAITS, End, Holder
from tarry.testing.samples import NOON, an_application, an_endpoint

PROBE = ProbeRule()
ENDINGS = {
    Reason.DELIVERED,
    Reason.REFUSED,
    Reason.EXHAUSTED,
    Reason.AGED,
    Reason.GONE,
    Reason.ABORTED,
    Reason.EXPUNGED,
    Reason.ERASED,
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


def test_every_wait_says_who_ends_it_and_by_when() -> None:
    for wait in (*WAITS.values(), *OTHER_WAITS.values()):
        assert wait.ended_by
        assert wait.woken_by
        assert wait.by_when


def test_only_what_nothing_holds_back_is_ended_by_being_read() -> None:
    """`explain` calls such deliveries overdue, so no holder may hide behind this end."""
    read = {reason for reason, wait in WAITS.items() if wait.end is End.READ}
    assert read == {Reason.NEW, Reason.REPLAYED}
    assert all(WAITS[reason].holder is Holder.DELIVERY for reason in read)
    assert not any(wait.end is End.READ for wait in OTHER_WAITS.values())


def test_the_numbers_in_the_table_are_those_of_the_dispatcher() -> None:
    limits = Limits()
    assert f"every {RETRY_PAUSE:g} s" in WAITS[Reason.BUDGET].woken_by
    budget = f"at least {RETRY_RULE.bootstrap} go in {RETRY_RULE.window:g} s"
    assert budget in WAITS[Reason.BUDGET].by_when
    late = f"at most {PROBE.late:.0%} of the outage's age ({PROBE.late_large:.0%} where"
    late = f"{late} {PROBE.large:,} wait) and by an hour at most".replace("%", " %")
    assert late in WAITS[Reason.LANE_OPEN].by_when
    assert PROBE.at_most == 3600
    assert HOLD_SPREAD == 0.1
    assert DELIVERY.retry_after.at_most == 3600
    assert limits.look == 1
    texts = " ".join(wait.by_when for wait in OTHER_WAITS.values())
    assert f"{FIRST} requests go at a time at first, {limits.lane_in_flight} at most" in texts
    assert f"tried again every {REFUSED_AGAIN_AFTER:g} s" in texts
    assert f"about {limits.lease * 4 / 3 + 1:.0f} s after its last renewal" in texts
