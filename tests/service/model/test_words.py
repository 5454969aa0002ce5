"""The words that users read: every state, reason and lane has some, and no two waits share them."""

import pytest

from tarry.core.pace import Phase
from tarry.service.model.delivery import LIVE, Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.waits import WAITS
from tarry.service.model.words import (
    FAILING,
    LANES,
    REASONS,
    STATES,
    Words,
    lane_state,
    sentence,
    state_of,
)


def test_everything_that_users_meet_has_words() -> None:
    assert set(STATES) == set(State)
    assert set(REASONS) == set(Reason)
    assert set(LANES) == {*Phase, *set(Standing) - {Standing.ENABLED}, FAILING}


def test_a_lane_is_called_by_its_standing_or_its_phase_or_its_last_failure() -> None:
    assert lane_state(Standing.PARKED, Phase.OPEN, failed=True) == Standing.PARKED
    assert lane_state(Standing.ENABLED, Phase.OPEN, failed=True) == Phase.OPEN
    assert lane_state(Standing.ENABLED, Phase.CLOSED, failed=False) == Phase.CLOSED
    assert lane_state(Standing.ENABLED, Phase.CLOSED, failed=True) == FAILING


def test_a_live_delivery_is_called_waiting() -> None:
    assert {STATES[state].label for state in LIVE} == {"waiting"}
    ended = [STATES[state].label for state in State if state not in LIVE]
    assert len(set(ended)) == len(ended)


@pytest.mark.parametrize("table", [REASONS, LANES])
def test_a_label_means_one_thing(table: dict[str, Words]) -> None:
    labels = [words.label for words in table.values()]
    assert len(set(labels)) == len(labels)


def test_a_wait_says_what_ends_it_and_an_ending_does_not() -> None:
    assert {reason for reason, words in REASONS.items() if words.ended_by} == set(WAITS)


def test_every_reason_belongs_to_a_state() -> None:
    assert state_of(Reason.LANE_OPEN) is State.WAITING
    assert state_of(Reason.AGED) is State.FAILED
    assert state_of(Reason.CANCELLED) is State.CANCELLED
    states = {state_of(reason) for reason in Reason}
    assert states == set(State) - {State.READY}


def test_meanings_are_sentences() -> None:
    for words in (*STATES.values(), *REASONS.values(), *LANES.values()):
        assert words.meaning[0].isupper()
        assert words.meaning.endswith(".")
        assert not words.label.endswith(".")


@pytest.mark.parametrize(
    ("state", "reason", "said"),
    [
        (State.DELIVERED, Reason.DELIVERED, "Delivered."),
        (State.CANCELLED, Reason.CANCELLED, "Cancelled."),
        (State.FAILED, Reason.AGED, "Failed: too old. It is older than its policy allows."),
        (
            State.FAILED,
            Reason.REFUSED,
            "Failed: refused. The endpoint refused this message permanently.",
        ),
    ],
)
def test_a_state_and_a_reason_make_a_sentence(state: State, reason: Reason, said: str) -> None:
    assert sentence(state, reason) == said
