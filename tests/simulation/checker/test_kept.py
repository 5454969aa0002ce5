"""Nothing accepted is lost, and nothing ends without a cause."""

import pytest
from msgspec.structs import replace

from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tests.simulation.checker.hand_made import (
    ONE,
    TWO,
    accepted,
    added,
    answered,
    delivery,
    ending,
    requested,
    rules,
    story,
)
from tests.simulation.log import Asked, Entry, Fault, Lost, Requested

THREE_ATTEMPTS = '{"version": 1, "attempts": 3}'


def test_a_message_without_a_delivery_is_lost() -> None:
    assert rules(story(), ending()) == {"accepted and lost"}


def test_a_message_that_a_failover_took_along_is_not_missed() -> None:
    log = [*story(), accepted(2, TWO), Lost(3, 1.5), Fault(at=3, until=4, kind="failover")]
    assert rules(log, ending(delivery())) == set()


def test_a_message_cannot_be_delivered_without_a_request() -> None:
    log = [*story(), accepted(2, TWO)]
    assert rules(log, ending(delivery(), delivery(TWO))) == {"ended without cause"}


def test_a_message_that_still_waits_is_not_lost() -> None:
    log = [*story(), accepted(2, TWO)]
    waiting = delivery(TWO, State.READY, Reason.NEW)
    assert rules(log, ending(delivery(), waiting)) == set()


@pytest.mark.parametrize(
    ("state", "reason", "cause"),
    [
        (State.CANCELLED, Reason.CANCELLED, [Asked(at=2, wish="cancel", message=ONE)]),
        (State.DISCARDED, Reason.DISCARDED, [added(2, standing=Standing.DELETED)]),
        (State.SKIPPED, Reason.SKIPPED, [added(0.5, standing=Standing.DISABLED)]),
        (State.FAILED, Reason.REFUSED, [requested(2, 1), answered(2.1, 1, 422)]),
        (State.FAILED, Reason.GONE, [requested(2, 1), answered(2.1, 1, 410)]),
        (
            State.FAILED,
            Reason.EXHAUSTED,
            [
                *(requested(2.0 + number, number) for number in range(3)),
                *(answered(2.1 + number, number, 500) for number in range(3)),
            ],
        ),
    ],
)
def test_an_ending_needs_its_cause(state: State, reason: Reason, cause: list[Entry]) -> None:
    log: list[Entry] = [added(policy=THREE_ATTEMPTS), accepted(1)]
    end = ending(delivery(ONE, state, reason))
    assert rules(log, end) == {"ended without cause"}
    assert rules([*log, *cause], end) == set()


@pytest.mark.parametrize(
    ("state", "reason", "cause"),
    [
        (State.CANCELLED, Reason.CANCELLED, Asked(at=2, wish="cancel", message=ONE)),
        (State.DISCARDED, Reason.DISCARDED, added(2, standing=Standing.DELETED)),
        (State.SKIPPED, Reason.SKIPPED, added(2, standing=Standing.DISABLED)),
    ],
)
def test_a_cause_that_a_failover_lost_ends_nothing(
    state: State, reason: Reason, cause: Entry
) -> None:
    end = ending(delivery(ONE, state, reason))
    log: list[Entry] = [added(), accepted(1), cause, Fault(at=3, until=4, kind="failover")]
    assert rules([*log, Lost(3, 2.5)], end) == set()
    assert rules([*log, added(3), Lost(3, 1.5)], end) == {"ended without cause"}


def test_nothing_else_ends_a_delivery() -> None:
    log: list[Entry] = [added(), accepted(1)]
    end = ending(delivery(ONE, State.FAILED, Reason.EXPUNGED))
    assert rules(log, end) == {"ended without cause"}


def failures(count: int, apart: float, begin: float) -> list[Entry]:
    """Requests that fail while the endpoint is down."""
    log: list[Entry] = []
    for number in range(1, count + 1):
        at = begin + apart * number
        log.append(requested(at, number, number=number, is_down=True))
        log.append(answered(at + 0.01, number, 500))
    return log


def test_an_outage_uses_up_no_delivery_once_it_is_known() -> None:
    used_up = ending(delivery(ONE, State.FAILED, Reason.EXHAUSTED))
    begun: list[Entry] = [added(policy='{"version": 1, "attempts": 12}'), accepted(1)]
    assert "ended without cause" in rules([*begun, *failures(12, 1.0, 20)], used_up)
    assert "ended without cause" not in rules([*begun, *failures(12, 0.2, 20)], used_up)


def taken_over(requests: int) -> list[Entry]:
    """An outage in which another worker takes over after so many requests."""
    log: list[Entry] = [added(policy='{"version": 1, "attempts": 12}'), accepted(1)]
    for entry in failures(16, 1.0, 20):
        is_second = isinstance(entry, Requested) and entry.number > requests
        log.append(replace(entry, worker="worker 1") if is_second else entry)
    return log


def test_a_worker_that_takes_over_after_a_fault_finds_out_about_an_outage_again() -> None:
    used_up = ending(delivery(ONE, State.FAILED, Reason.EXHAUSTED))
    assert "ended without cause" in rules(taken_over(6), used_up)
    killed = Fault(at=26.5, until=26.5, kind="killed", process="worker 0")
    assert "ended without cause" not in rules([*taken_over(6), killed], used_up)


def test_a_worker_that_takes_over_knows_what_the_last_one_knew_and_wrote() -> None:
    used_up = ending(delivery(ONE, State.FAILED, Reason.EXHAUSTED))
    killed = Fault(at=30.5, until=30.5, kind="killed", process="worker 0")
    assert "ended without cause" in rules([*taken_over(10), killed], used_up)
    away = Fault(at=25, until=28, kind="away")
    assert "ended without cause" not in rules([*taken_over(10), killed, away], used_up)


def test_a_type_of_event_that_fails_alone_is_no_outage() -> None:
    used_up = ending(delivery(ONE, State.FAILED, Reason.EXHAUSTED), delivery(TWO))
    begun: list[Entry] = [added(policy='{"version": 1, "attempts": 12}'), accepted(1)]
    taken: list[Entry] = [accepted(1, TWO), requested(15, 99, TWO), answered(15.1, 99)]
    failed = failures(12, 1.0, 20)
    assert "ended without cause" not in rules([*begun, *taken, *failed], used_up)


def test_an_outage_takes_longer_to_notice_where_half_fail_by_chance() -> None:
    used_up = ending(delivery(ONE, State.FAILED, Reason.EXHAUSTED), delivery(TWO))
    taken: list[Entry] = [accepted(1, TWO)]
    for number in range(100, 110):
        taken.append(requested(number / 10, number, TWO, number=number))
        taken.append(answered(number / 10 + 0.01, number, 500 if number % 2 else 200))

    def breaks(attempts: int) -> bool:
        policy = f'{{"version": 1, "attempts": {attempts}}}'
        begun: list[Entry] = [added(policy=policy), accepted(1)]
        rows = failures(attempts, 1.0, 80)
        return "ended without cause" in rules([*begun, *taken, *rows], used_up)

    assert not breaks(12)
    assert breaks(24)


def test_a_message_whose_commit_was_held_up_may_be_too_old_soon_after_it() -> None:
    policy = '{"version": 1, "within": 12}'
    aged = delivery(TWO, State.FAILED, Reason.AGED)
    log = [added(policy=policy), *story(), accepted(21, TWO)]
    stuck = Fault(at=5, until=20.5, kind="stuck")
    end = replace(ending(delivery(), aged), at=24.0)
    assert "ended without cause" in rules(log, end)
    assert "ended without cause" not in rules([*log, stuck], end)
    for other in (replace(stuck, at=18), replace(stuck, until=19), replace(stuck, process="w")):
        assert "ended without cause" in rules([*log, other], end)
