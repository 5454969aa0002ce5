import pickle

import pytest

from tarry.core.outcome import FINAL, Again, Done, Failure, GiveUp, Kind, Pending, Success, Why


def test_some_kinds_of_failure_another_attempt_would_not_mend() -> None:
    assert frozenset({Kind.PERMANENT, Kind.BLOCKED, Kind.REFUSED}) == FINAL


def test_a_failure_is_transient_and_repeatable_unless_said_otherwise() -> None:
    assert Failure() == Failure(kind=Kind.TRANSIENT, retry_after=None, repeatable=True)


def test_the_kinds_are_words_that_can_be_stored() -> None:
    assert [str(kind) for kind in Kind] == [
        "transient",
        "throttled",
        "timeout",
        "dns",
        "tls",
        "protocol",
        "permanent",
        "blocked",
        "refused",
    ]


def test_every_reason_to_stop_reads_as_a_clause() -> None:
    assert {why.name: str(why) for why in Why} == {
        "NOT_RETRIED": "not an error that is retried",
        "NOT_REPEATABLE": "the request may have been sent and cannot safely be sent again",
        "ATTEMPTS": "all attempts are used up",
        "WITHIN": "no time is left for another attempt",
        "RETRY_AFTER": "the server asked for a longer wait than the policy allows",
        "BUDGET": "the retry budget is spent",
        "CIRCUIT": "the circuit is open",
        "NESTED": "an outer retry is at work",
        "DISABLED": "retrying is turned off",
    }


@pytest.mark.parametrize(
    "value",
    [
        Success(),
        Pending(),
        Failure(Kind.DNS, 3.0),
        Done(),
        Again(1.5, 2.5),
        GiveUp(Why.WITHIN, 9.0),
    ],
    ids=str,
)
def test_outcomes_and_decisions_are_values(value: object) -> None:
    copy = pickle.loads(pickle.dumps(value))  # noqa: S301  our own bytes
    assert copy == value
    assert hash(copy) == hash(value)
