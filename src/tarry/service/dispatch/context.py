"""What all lanes of a dispatcher share: clocks, chance, the sender, limits and counters."""

from collections.abc import Callable

from tarry.service.dispatch.buffer.rows import PayloadBytes
from tarry.service.dispatch.clock import Alarms, Later
from tarry.service.dispatch.limits.shared import Slots
from tarry.service.model import ids
from tarry.service.model.audit import Action, ActorKind
from tarry.service.model.ids import entropy
from tarry.service.model.lane import Notice
from tarry.service.model.operational import visible
from tarry.service.model.settings import Limits, Parking
from tarry.service.wire.exchange import Sender


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


class Context:
    """Shared by all lanes and origins of one dispatcher."""

    def __init__(  # noqa: PLR0913  everything that lanes share, named once
        self,
        *,
        now: Callable[[], float],
        wall: Callable[[float], float],
        later: Later,
        draw: Callable[[], float],
        chance: Callable[[int], bytes] = entropy,
        sender: Sender,
        limits: Limits,
        parking: Parking,
    ) -> None:
        self.now = now
        self.wall = wall
        """Returns the database's time for a time of this process's clock."""
        self.later = later
        self.alarms = Alarms(now, later)
        self.draw = draw
        self._chance = chance
        self.sender = sender
        self.limits = limits
        self.parking = parking
        self.slots = Slots(limits.in_flight, later)
        """One for each request in flight."""
        self.unwritten = Slots(limits.in_flight + limits.unsettled)
        """One for each attempt in flight, and on until its outcome is written."""
        self.buffered = PayloadBytes()
        self.replayed_lane: int | None = None
        """The lane that gets deliveries of a replay just now. None of them is sent before the lane
        has a pace, even if they are read before the replay's own load of the lane."""
        self.counters = Counters()
        self.note = self.notice  # one bound method for all records, instead of one for each

    def replay_into(self, lane: int | None) -> None:
        """Set the lane that gets deliveries of a replay from now on; None if no lane does."""
        self.replayed_lane = lane

    def earlier(self, now: float) -> float:
        """Return the time to compute ages with at `now`: that of the clock that is behind.

        Messages are accepted by a wall clock. After that clock stepped, some messages carry a time
        from before the step and some from after it. None of them may expire too early.
        """
        return min(now, self.wall(now))

    def is_full(self) -> bool:
        """Return whether the payloads in memory have reached their limit.

        Then only lanes that have no row in memory get one.
        """
        return self.buffered.bytes >= self.limits.buffered_bytes

    def id(self, prefix: str, now: float) -> str:
        """Return a new id with this prefix."""
        return ids.make(prefix, now=now, entropy=self._chance(ids.CHANCE))

    def action(self, environment: str, operation: str, now: float) -> Action:
        """Return an action of tarry itself, for the audit trail."""
        return Action(
            environment=visible(environment),
            at=now,
            actor=ActorKind.TARRY,
            operation=operation,
            chance=self._chance(ids.CHANCE),
        )

    def notice(
        self,
        application: str,
        endpoint: str,
        kind: str,
        now: float,
        facts: dict[str, str | float | None],
    ) -> Notice:
        """Return a notice that informs an endpoint's owner of an event."""
        return Notice(
            id=self.id(ids.NOTICE, now),
            application=application,
            endpoint=endpoint,
            kind=kind,
            facts=dict(facts),
            at=now,
        )
