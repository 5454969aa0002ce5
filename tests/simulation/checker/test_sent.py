"""Only accepted messages are sent, and not after a person stopped them."""

import pytest

from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tests.simulation.checker.hand_made import (
    HERE,
    ONE,
    TWO,
    accepted,
    added,
    answered,
    delivery,
    ending,
    requested,
    rules,
    settled,
    story,
)
from tests.simulation.log import Asked, Entry, Fault

SENT_LATE: list[Entry] = [requested(20, 2, TWO), answered(20.1, 2)]


def spoiled(*entries: Entry) -> set[str]:
    log = [*story(), accepted(2, TWO), *entries, *SENT_LATE]
    return rules(log, ending(delivery(), delivery(TWO)))


def test_what_was_never_accepted_is_not_sent() -> None:
    log = [*story(), *SENT_LATE]
    assert rules(log, ending(delivery())) == {"sent and not accepted"}


def test_what_is_for_others_is_not_sent_unless_somebody_asks_for_it() -> None:
    other = accepted(2, TWO, endpoints=())
    log = [*story(), other, *SENT_LATE]
    assert rules(log, ending(delivery())) == {"sent and not accepted"}
    log.append(Asked(at=3, wish="resend", endpoint=HERE, message=TWO))
    assert rules(log, ending(delivery())) == set()


def test_a_scheduled_message_is_not_sent_early() -> None:
    early = accepted(2, TWO, scheduled_for=30.0)
    assert rules([*story(), early, *SENT_LATE], ending(delivery(), delivery(TWO))) == {
        "sent too early"
    }
    just_right = accepted(2, TWO, scheduled_for=19.0)
    assert rules([*story(), just_right, *SENT_LATE], ending(delivery(), delivery(TWO))) == set()


@pytest.mark.parametrize("standing", [Standing.PAUSED, Standing.DISABLED, Standing.DELETED])
def test_nothing_goes_to_an_endpoint_that_was_stopped(standing: Standing) -> None:
    assert spoiled(added(10, standing=standing)) == {"sent although stopped"}
    assert spoiled(added(19, standing=standing)) == set()  # it takes a moment


def test_a_worker_that_hears_of_nothing_may_still_send() -> None:
    trouble = Fault(at=9, until=19, kind="stuck", process="worker 0")
    assert spoiled(added(10, standing=Standing.PAUSED), trouble) == set()


def test_nothing_goes_to_an_old_address() -> None:
    assert spoiled(added(10, url="https://there.example/0")) == {"sent to an old address"}


def test_what_was_cancelled_is_not_sent() -> None:
    assert spoiled(Asked(at=10, wish="cancel", message=TWO)) == {"sent although cancelled"}
    assert spoiled(Asked(at=10, wish="cancel", message=ONE)) == set()


def test_what_had_failed_before_it_was_cancelled_may_be_recovered() -> None:
    cancelled = Asked(at=10, wish="cancel", message=TWO)
    failed = settled(9, TWO, state=State.FAILED)
    assert "sent although cancelled" not in spoiled(failed, cancelled)
