"""What tests of calls ask for beside a still time: the events, and a scope left as it was."""

from collections.abc import Iterator

import pytest

from tarry.call.scope import current
from tarry.observe import Event, listen


@pytest.fixture
def events() -> Iterator[list[Event]]:
    """Every event so far, of whatever call."""
    heard: list[Event] = []
    stop = listen(heard.append)
    yield heard
    stop()


@pytest.fixture(autouse=True)
def no_scope_is_left_open() -> Iterator[None]:
    yield
    assert current.get() is None
