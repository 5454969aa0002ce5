"""Every duplicate is explained by something that happened."""

import pytest

from tests.simulation.checker.hand_made import (
    HERE,
    ONE,
    answered,
    delivery,
    ending,
    requested,
    rules,
    story,
)
from tests.simulation.log import Asked, Entry, Fault

AGAIN: list[Entry] = [requested(5, 2, number=2), answered(5.1, 2)]


def spoiled(*entries: Entry) -> set[str]:
    return rules([*story(), *entries, *AGAIN], ending(delivery()))


def test_what_was_taken_is_not_sent_again() -> None:
    assert spoiled() == {"unexplained duplicate"}


@pytest.mark.parametrize(
    "explanation",
    [
        Asked(at=3, wish="replayed", endpoint=HERE),
        Asked(at=3, wish="resend", endpoint=HERE, message=ONE),
        Fault(at=1.25, until=9, kind="killed", process="worker 0"),
        Fault(at=1.15, until=1.2, kind="forgetful"),
    ],
)
def test_a_duplicate_may_be_explained(explanation: Entry) -> None:
    assert spoiled(explanation) == set()


@pytest.mark.parametrize(
    "no_explanation",
    [
        Asked(at=3, wish="resend", endpoint=HERE, message="msg_other"),
        Asked(at=6, wish="replayed", endpoint=HERE),
        Fault(at=1.25, until=9, kind="killed", process="worker 1"),
        Fault(at=6, until=9, kind="forgetful"),
    ],
)
def test_what_has_nothing_to_do_with_it_explains_nothing(no_explanation: Entry) -> None:
    assert "unexplained duplicate" in spoiled(no_explanation)


@pytest.mark.parametrize("first", [answered(1.2, 1, 500), answered(1.2, 1, None)])
def test_a_failure_is_tried_again(first: Entry) -> None:
    log = [entry for entry in story() if entry.at != 1.2]
    assert rules([*log, first, *AGAIN], ending(delivery())) == set()


def test_an_answer_that_nobody_heard_explains_the_next_request() -> None:
    log = [entry for entry in story() if entry.at not in {1.2, 1.3}]
    unheard = answered(1.2, 1, heard=False)
    assert rules([*log, unheard, *AGAIN], ending(delivery())) == set()


def test_two_requests_at_a_time_for_one_message_are_a_duplicate() -> None:
    log = [*story(), requested(1.15, 2, worker="worker 1"), answered(1.25, 2)]
    assert "unexplained duplicate" in rules(log, ending(delivery()))
