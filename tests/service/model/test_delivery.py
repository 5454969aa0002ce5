"""The states of a delivery and the moves between them."""

import pytest

from tarry.service.model.delivery import ENDED, LIVE, MOVES, STUCK, Delivery, Reason, State


def test_a_delivery_is_live_or_it_ended() -> None:
    assert set(State) == LIVE | ENDED
    assert not LIVE & ENDED


def test_the_table_of_moves_knows_every_state() -> None:
    assert set(MOVES) == set(State)


@pytest.mark.parametrize("state", sorted(ENDED))
def test_what_ended_can_at_most_be_made_ready_again_or_arrive_after_all(state: State) -> None:
    assert MOVES[state] <= {State.READY, State.DELIVERED}
    assert (State.DELIVERED in MOVES[state]) == (state in (State.FAILED, State.SKIPPED))


@pytest.mark.parametrize("state", [State.CANCELLED, State.DISCARDED])
def test_what_a_person_ended_stays_so(state: State) -> None:
    assert not MOVES[state]


@pytest.mark.parametrize("state", sorted(LIVE))
def test_what_is_live_can_end_in_every_way_but_being_skipped(state: State) -> None:
    assert MOVES[state] == set(State) - {State.SKIPPED}


def test_a_new_delivery_is_ready_and_was_not_tried() -> None:
    delivery = Delivery(lane=1, seq=1, message="msg_1", accepted_at=5.0)
    assert (delivery.state, delivery.reason) == (State.READY, Reason.NEW)
    assert (delivery.attempts, delivery.tries) == (0, 0)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("tries", [0, 1])
def test_what_failed_can_be_recovered_for_good_or_the_last_time(state: State, tries: int) -> None:
    delivery = Delivery(lane=1, seq=1, message="msg_1", accepted_at=5.0, state=state, tries=tries)
    waits = state is State.WAITING and tries > 0
    assert delivery.can_be_recovered == (state is State.FAILED or waits)
    assert state in STUCK or not delivery.can_be_recovered


def test_reasons_are_words_that_people_read() -> None:
    assert all(reason.value == reason.value.strip() and reason.value for reason in Reason)
