"""Counts what a dispatcher has done since it started, for its metrics."""


class Counters:
    """Counts of attempts, outcomes and defects. They only grow."""

    __slots__ = ("delivered", "failed", "probes", "sent", "stale", "stalled", "unwritable")

    def __init__(self) -> None:
        self.sent = self.probes = 0
        """Attempts, and how many of them were probes."""
        self.delivered = self.failed = 0
        """Deliveries that ended."""
        self.stale = 0
        """Settlements that the store rejected because the delivery had been changed meanwhile."""
        self.stalled = 0
        """Lanes that the watchdog had to wake: each is a defect."""
        self.unwritable = 0
        """Settlements and changes that the store could not write as they were: each is a defect."""

    def count_sent(self, *, probe: bool) -> None:
        """Count an attempt."""
        self.sent += 1
        self.probes += probe

    def count_delivered(self) -> None:
        """Count a delivery that succeeded."""
        self.delivered += 1

    def count_failed(self, number: int = 1) -> None:
        """Count deliveries that ended without success."""
        self.failed += number

    def count_stale(self) -> None:
        """Count a settlement that the store rejected as out of date."""
        self.stale += 1

    def count_stalled(self) -> None:
        """Count a lane that the watchdog had to wake."""
        self.stalled += 1

    def count_unwritable(self) -> None:
        """Count a settlement or a change that the store could not write."""
        self.unwritable += 1
