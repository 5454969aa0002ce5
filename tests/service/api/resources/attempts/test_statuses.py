import pytest

from tarry.service.api.resources.attempts.statuses import (
    MessageStatus,
    deliveries,
    status_of,
    text_of,
)
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.listing import MessageFilter

ANY = MessageFilter()


def a_delivery(state: State, tries: int) -> Delivery:
    return Delivery(lane=1, seq=1, message="msg_1", state=state, tries=tries, accepted_at=0.0)


EVERY = [a_delivery(state, tries) for state in State for tries in (0, 2)]


@pytest.mark.parametrize(
    ("state", "tries", "status"),
    [
        (State.READY, 0, MessageStatus.PENDING),
        (State.WAITING, 0, MessageStatus.PENDING),
        (State.READY, 1, MessageStatus.SENDING),
        (State.WAITING, 1, MessageStatus.SENDING),
        (State.DELIVERED, 1, MessageStatus.SUCCESS),
        (State.FAILED, 1, MessageStatus.FAIL),
        (State.FAILED, 0, MessageStatus.FAIL),
        (State.CANCELLED, 1, MessageStatus.CANCELED),
        (State.DISCARDED, 0, MessageStatus.CANCELED),
    ],
)
def test_a_delivery_has_a_status_and_a_word_for_it(
    state: State, tries: int, status: MessageStatus
) -> None:
    assert status_of(a_delivery(state, tries), expanded=True) is status
    assert text_of(status).value == status.name.lower()


def test_who_does_not_know_of_cancelling_takes_it_for_a_success() -> None:
    assert status_of(a_delivery(State.CANCELLED, 1), expanded=False) is MessageStatus.SUCCESS


@pytest.mark.parametrize("expanded", [True, False])
@pytest.mark.parametrize("status", [delivery for delivery in MessageStatus if delivery.value < 4])
def test_a_filter_lets_through_what_is_shown_with_the_status(
    status: MessageStatus, *, expanded: bool
) -> None:
    chosen = deliveries(status, ANY, expanded=expanded)
    for delivery in EVERY:
        fits = chosen.states is not None and delivery.state in chosen.states
        fits = fits and chosen.tried in (None, delivery.tries > 0)
        shown = (
            delivery.state is not State.SKIPPED and status_of(delivery, expanded=expanded) is status
        )
        assert fits == shown, delivery


def test_without_a_status_all_but_what_was_skipped_is_wanted() -> None:
    chosen = deliveries(None, ANY, expanded=False)
    assert chosen.states == frozenset(State) - {State.SKIPPED}
    assert chosen.tried is None


def test_what_was_cancelled_can_be_asked_for_by_everybody() -> None:
    stopped = frozenset({State.CANCELLED, State.DISCARDED})
    for expanded in (True, False):
        assert deliveries(MessageStatus.CANCELED, ANY, expanded=expanded).states == stopped
