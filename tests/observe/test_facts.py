from typing import cast

import pytest

from tarry import Failure, Kind, Pending, PolicyError, Success, Why
from tarry.core.breaker import Phase
from tarry.core.outcome import Outcome
from tarry.observe import Attempted, BreakerMoved, Event, GivenUp, Retrying, Succeeded
from tarry.observe.facts import (
    Errors,
    Facts,
    Level,
    checked,
    facts_of,
    level_of,
    outcome_word,
    reason_word,
    word_of,
)

ERROR = ConnectionError("reset")


class Own(Exception):  # noqa: N818  a name like any other
    pass


@pytest.mark.parametrize(
    ("event", "word", "level"),
    [
        (Attempted("f", 1, 0.1, Success(), None), "attempted", "debug"),
        (Attempted("f", 1, 0.1, Failure(), ERROR), "attempted", "debug"),
        (Retrying("f", 1, 0.1, Failure(), ERROR), "retrying", "warning"),
        (Retrying("f", 1, 0.1, Pending(), None), "retrying", "debug"),
        (GivenUp("f", 3, 0.1, Why.ATTEMPTS, None, ERROR), "gave_up", "error"),
        (GivenUp("f", 1, 0.1, Why.DISABLED, None, ERROR), "gave_up", "error"),
        (GivenUp("f", 2, 0.1, Why.NOT_RETRIED, None, ERROR), "gave_up", "error"),
        (GivenUp("f", 1, 0.1, Why.NOT_RETRIED, None, ERROR), "gave_up", "debug"),
        (GivenUp("f", 0, 0.0, Why.CIRCUIT, 30.0, ERROR), "gave_up", "debug"),
        (GivenUp("f", 1, 0.1, Why.CIRCUIT, 30.0, ERROR), "gave_up", "error"),
        (GivenUp("f", 1, 0.1, Why.NESTED, None, ERROR), "gave_up", "debug"),
        (Succeeded("f", 1, 0.1), "succeeded", "debug"),
        (Succeeded("f", 2, 0.1), "succeeded", "info"),
        (BreakerMoved("b", Phase.CLOSED, Phase.OPEN, 9.0), "breaker_moved", "warning"),
    ],
)
def test_each_event_has_its_word_and_its_level(event: Event, word: str, level: Level) -> None:
    assert (word_of(event), level_of(event)) == (word, level)


@pytest.mark.parametrize(
    ("event", "facts"),
    [
        (
            Attempted("f", 1, 0.1, Success(), None),
            {"call": "f", "attempt": 1, "took": 0.1, "outcome": "success"},
        ),
        (
            Retrying("f", 2, 0.1, Failure(Kind.THROTTLED), ERROR),
            {
                "call": "f",
                "attempt": 2,
                "delay": 0.1,
                "outcome": "throttled",
                "error": "ConnectionError",
                "error_message": "reset",
            },
        ),
        (
            GivenUp("f", 3, 1.5, Why.RETRY_AFTER, 90.0, None),
            {
                "call": "f",
                "attempts": 3,
                "elapsed": 1.5,
                "reason": "retry_after",
                "retry_after": 90.0,
            },
        ),
        (
            GivenUp("f", 3, 1.5, Why.ATTEMPTS, None, None),
            {"call": "f", "attempts": 3, "elapsed": 1.5, "reason": "attempts"},
        ),
        (Succeeded("f", 1, 0.1), {"call": "f", "attempts": 1, "elapsed": 0.1}),
        (
            BreakerMoved("b", Phase.CLOSED, Phase.OPEN, 9.0),
            {"breaker": "b", "before": "closed", "after": "open", "retry_at": 9.0},
        ),
        (
            BreakerMoved("b", Phase.OPEN, Phase.HALF_OPEN, 9.0),
            {"breaker": "b", "before": "open", "after": "half-open"},
        ),
    ],
)
def test_the_facts_are_plain_data_and_none_is_empty(event: Event, facts: Facts) -> None:
    assert facts_of(event, "message") == facts


def test_a_message_can_be_left_out() -> None:
    event = Retrying("f", 2, 0.1, Failure(), ERROR)
    assert "reset" in str(facts_of(event, "message"))
    assert "reset" not in str(facts_of(event, "type"))
    assert facts_of(event, "type")["error"] == "ConnectionError"


def test_an_error_that_is_not_built_in_is_named_with_its_module() -> None:
    event = GivenUp("f", 1, 0.1, Why.ATTEMPTS, None, Own("mine"))
    assert facts_of(event, "type")["error"] == f"{__name__}.Own"


@pytest.mark.parametrize(
    ("outcome", "word"),
    [(Success(), "success"), (Pending(), "pending"), *((Failure(kind), kind) for kind in Kind)],
)
def test_an_outcome_is_one_word(outcome: Outcome, word: str) -> None:
    assert outcome_word(outcome) == word


def test_every_reason_is_one_word_and_no_sentence() -> None:
    words = [reason_word(why) for why in Why]
    assert len(set(words)) == len(Why)
    assert all(word.replace("_", "").isalpha() and word.islower() for word in words)


def test_only_a_setting_there_is_will_do() -> None:
    with pytest.raises(PolicyError, match=r"'errors' is 'all'; it must be 'type' or 'message'"):
        checked(cast("Errors", "all"))
