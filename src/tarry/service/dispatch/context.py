"""What all lanes of a dispatcher share: clocks, chance, the sender, limits and counters."""

from collections.abc import Callable

from tarry.service.dispatch.buffer.rows import PayloadBytes
from tarry.service.dispatch.clock import Alarms, Later
from tarry.service.dispatch.counters import Counters
from tarry.service.dispatch.limits.slots import Slots
from tarry.service.model import ids
from tarry.service.model.entropy import entropy
from tarry.service.model.lane import Notice
from tarry.service.model.settings import Limits, Parking
from tarry.service.wire.exchange import Sender


class Context:
    """Shared by all lanes and origins of one dispatcher."""

    def __init__(  # noqa: PLR0913  what lanes share, spelled out once
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
        """The time by the database's clock at an instant of this process's clock."""
        self.later = later
        self.alarms = Alarms(now, later)
        self.draw = draw
        self._chance = chance
        self.sender = sender
        self.limits = limits
        self.parking = parking
        self.slots = Slots(limits.in_flight)
        self.buffered = PayloadBytes()
        self.counters = Counters()
        self.note = self.notice  # one for all records: each would have its own otherwise

    def earlier(self, now: float) -> float:
        """Return the time to reckon ages with when it is `now`: the earlier of both clocks.

        Messages are accepted by a wall clock. After a step some were accepted by it as it was
        before, and some as it is now: none of them may count as too old before its time.
        """
        return min(now, self.wall(now))

    def is_full(self) -> bool:
        """Return whether so much is in memory that only lanes with nothing at hand get a row."""
        return self.buffered.bytes >= self.limits.buffered_bytes

    def id(self, prefix: str, now: float) -> str:
        """Return a new id."""
        return ids.make(prefix, now=now, entropy=self._chance(ids.CHANCE))

    def notice(
        self,
        application: str,
        endpoint: str,
        kind: str,
        now: float,
        facts: dict[str, str | float | None],
    ) -> Notice:
        """Return a notice of something that an endpoint's owner should hear of."""
        return Notice(
            id=self.id(ids.NOTICE, now),
            application=application,
            endpoint=endpoint,
            kind=kind,
            facts=dict(facts),
            at=now,
        )
