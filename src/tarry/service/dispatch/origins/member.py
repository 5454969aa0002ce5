"""A lane, as its origin knows it."""

from typing import Protocol

from tarry.core.pace import Phase
from tarry.service.dispatch.limits.gate import Gate


class Member(Protocol):
    """One of the lanes that share a gate while their origin is in trouble."""

    @property
    def number(self) -> int:
        """Which lane it is."""

    @property
    def tenant(self) -> str:
        """The application that it belongs to."""

    @property
    def gate(self) -> Gate:
        """Its own gate."""

    @property
    def in_flight(self) -> int:
        """How many requests are on their way."""

    @property
    def timeout(self) -> float:
        """The timeout of its requests, in seconds."""

    @property
    def is_well(self) -> bool:
        """Whether nothing failed since it took something, or ever."""

    @property
    def is_apart(self) -> bool:
        """Whether it goes by its own gate although its origin is in trouble."""

    @property
    def refusals(self) -> int:
        """How many deliveries were refused since the last one was taken."""

    def waiting(self) -> int:
        """Return how many deliveries wait, those in flight left out."""

    def has_failed_since(self, time: float) -> bool:
        """Return whether something failed since then."""

    def pump(self, *, turn: bool = False) -> None:
        """Send one, if it has anything to send."""

    def shared(self, now: float) -> None:
        """Go by the gate of the origin, which is in trouble."""

    def origin_turned(self, phase: Phase, now: float) -> None:
        """Take in that the gate of the origin is in another phase."""

    def alone(self, now: float, capacity: float | None = None, since: float | None = None) -> None:
        """Open its own gate: the trouble is its own."""

    def released(self, now: float) -> None:
        """Go by its own gate again, although something may wait."""
