"""The pytest plugin: fixtures that remove the waiting and the randomness from a test.

Every pytest run loads this wherever tarry is installed, so it imports little else.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Protocol

import pytest

from tarry.call.scope import disabled
from tarry.core.decide import Draw
from tarry.errors import TarryError
from tarry.observe.events import Event
from tarry.observe.stream import listen, stream
from tarry.testing.clock import PushedClock, pushed_clock
from tarry.testing.draws import Seed, scripted_draws, seeded_draws

NO_SLEEP = "tarry_no_sleep"


class UseDraws(Protocol):
    """The type of `tarry_draws`: call ``tarry_draws([0.5, 0.1])`` or ``tarry_draws(seed=7)``."""

    def __call__(self, draws: Iterable[float] | None = None, *, seed: Seed | None = None) -> Draw:
        """Use a script or a seed for all draws, from here to the end of the test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting `tarry_no_sleep`."""
    parser.addini(NO_SLEEP, "use tarry_clock in every test; none sleeps", "bool", False)  # noqa: FBT003  pytest's signature


@pytest.fixture(autouse=True)
def _tarry_as_before(request: pytest.FixtureRequest) -> Iterator[None]:
    """Restore process-wide state after each test: the listeners and the on/off switch.

    It is set up after the fixtures of sessions and modules, so it keeps what those have changed.
    """
    listeners, everywhere = stream.listeners, disabled.everywhere
    if request.config.getini(NO_SLEEP):
        request.getfixturevalue("tarry_clock")
    yield
    stream.listeners, disabled.everywhere = listeners, everywhere


@pytest.fixture
def tarry_clock() -> Iterator[PushedClock]:
    """A clock that you push, starting at 0: nothing really sleeps, and `slept` has all waits."""
    with pushed_clock() as clock:
        yield clock


@pytest.fixture
def tarry_draws() -> Iterator[UseDraws]:
    """A function that replaces the random draws of this test by a script or a seed."""
    with ExitStack() as cleanup:

        def use(draws: Iterable[float] | None = None, *, seed: Seed | None = None) -> Draw:
            if draws is not None and seed is None:
                return cleanup.enter_context(scripted_draws(draws))
            if seed is not None and draws is None:
                return cleanup.enter_context(seeded_draws(seed))
            raise TarryError("tarry_draws takes a list of draws or seed=, one of the two")

        yield use


@pytest.fixture
def tarry_events() -> Iterator[list[Event]]:
    """The list of all events in this test so far."""
    events: list[Event] = []
    stop = listen(events.append)
    yield events
    stop()
