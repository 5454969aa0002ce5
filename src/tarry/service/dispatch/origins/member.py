"""A lane, as its origin knows it."""

from typing import Protocol

from tarry.core.pace import Phase
from tarry.core.probe_rule import ProbeRule
from tarry.service.dispatch.limits.gate import Gate


class Member(Protocol):
    """One of the lanes that share a gate while their origin is in trouble."""

    @property
    def number(self) -> int:
        """The lane's number."""

    @property
    def tenant(self) -> str:
        """The application that it belongs to."""

    @property
    def gate(self) -> Gate:
        """Its own gate."""

    @property
    def probe_rule(self) -> ProbeRule:
        """How its probes become fewer while the endpoint stays down."""

    @property
    def in_flight(self) -> int:
        """How many requests are in flight."""

    @property
    def is_healthy(self) -> bool:
        """Whether no attempt failed since the endpoint accepted a delivery, or ever."""

    @property
    def is_at_work(self) -> bool:
        """Whether it may send at all: its endpoint is enabled, and its worker keeps it."""

    @property
    def uses_own_gate(self) -> bool:
        """Whether it uses its own gate although its origin is in trouble."""

    @property
    def refusals(self) -> int:
        """How many attempts were refused since the last success."""

    def waiting(self) -> int:
        """Return how many deliveries wait, without those in flight."""

    def hangs(self, now: float) -> bool:
        """Return whether requests are in flight and none was answered for a long time."""

    def has_failed_since(self, time: float) -> bool:
        """Return whether an attempt failed since then."""

    def take_turn(self) -> None:
        """Send one delivery, if it has any to send: it is its turn at the shared gate."""

    def share_gate(self, now: float) -> None:
        """Use the gate of the origin, which is in trouble."""

    def origin_changed(self, phase: Phase, now: float) -> None:
        """React to a new phase of the origin's gate."""

    def open_alone(
        self, now: float, capacity: float | None = None, since: float | None = None
    ) -> None:
        """Open its own gate: the trouble is this lane's."""

    def release(self, now: float) -> None:
        """Use its own gate again, although deliveries may wait."""
