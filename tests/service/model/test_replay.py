"""Which messages a bulk replay is about."""

import pytest

from tarry.service.model.delivery import MOVES, State
from tarry.service.model.listing import MessageFilter
from tarry.service.model.replay import REPLAYED, Fate, ReplayFilter, SoFar
from tarry.testing.samples import a_message

MESSAGE = a_message("app_1", event_type="a", channels=("eu",))


@pytest.mark.parametrize(
    ("state", "fate"),
    [
        (None, Fate.NEVER),
        (State.SKIPPED, Fate.NEVER),
        (State.READY, Fate.PENDING),
        (State.WAITING, Fate.PENDING),
        (State.DELIVERED, Fate.SUCCESS),
        (State.FAILED, Fate.FAIL),
        (State.CANCELLED, None),
        (State.DISCARDED, None),
    ],
)
def test_every_state_has_its_fate(state: State | None, fate: Fate | None) -> None:
    assert SoFar(state).fate is fate
    assert ReplayFilter().fits(MESSAGE, SoFar(state)) is (fate is not None)
    for asked in Fate:
        wanted = ReplayFilter(fate=asked)
        assert wanted.fits(MESSAGE, SoFar(state)) is (asked is fate)
        assert state is None or (state in wanted.states) is (asked is fate)


def test_only_what_may_be_ready_again_is_replayed() -> None:
    assert {state for state in State if State.READY in MOVES[state]} == REPLAYED
    assert ReplayFilter().states == REPLAYED


def test_a_status_class_is_asked_of_what_was_attempted() -> None:
    wanted = ReplayFilter(status_class=0)
    assert wanted.fits(MESSAGE, SoFar(State.FAILED, 0))
    assert not wanted.fits(MESSAGE, SoFar(State.FAILED, 500))
    assert not wanted.fits(MESSAGE, SoFar(State.READY, None))


def test_all_that_is_named_must_fit() -> None:
    failed = SoFar(State.FAILED, 500)
    named = MessageFilter(event_types=("a",), channel="eu")
    assert ReplayFilter(message=named, fate=Fate.FAIL, status_class=500).fits(MESSAGE, failed)
    other = MessageFilter(event_types=("b",), channel="eu")
    assert not ReplayFilter(message=other, fate=Fate.FAIL, status_class=500).fits(MESSAGE, failed)
