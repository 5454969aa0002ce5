"""Events of calls and breakers, and listeners that log, count and trace them."""

from tarry.observe.events import Attempted, BreakerMoved, Event, GivenUp, Retrying, Succeeded
from tarry.observe.stream import Listener, listen

__all__ = [
    "Attempted",
    "BreakerMoved",
    "Event",
    "GivenUp",
    "Listener",
    "Retrying",
    "Succeeded",
    "listen",
]
