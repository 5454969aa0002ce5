"""What the lanes of a dispatcher share: a clock, the sender, the slots, and lists of what to do."""

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from tarry.service.dispatch.alarms import Alarms, Later
from tarry.service.dispatch.buffer.intake import Buffered
from tarry.service.dispatch.lane.endpoint_record import joined
from tarry.service.dispatch.limits.slots import Slots
from tarry.service.dispatch.limits.spacing import LONG_AGO
from tarry.service.model import ids
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.entropy import entropy
from tarry.service.model.lane import Change, Due, Lease, Notice
from tarry.service.model.settings import Limits, Parking
from tarry.service.wire.exchange import Sender

if TYPE_CHECKING:
    from tarry.service.dispatch.lane.lane import Lane
    from tarry.service.dispatch.lane.state import LaneState


log = logging.getLogger("tarry.service")


class Ticking(Protocol):
    """What looks at its answers every tick, as long as it says that it has to."""

    def tick(self, now: float) -> bool:
        """Look; whether it wants to be asked again."""


class OwnedShard:
    """A shard that this process owns, and until when it may send for it."""

    def __init__(self, lease: Lease, until: float, since: float = LONG_AGO) -> None:
        self.lease = lease
        self.until = until
        self.since = since
        """When it was taken: until then somebody else may have sent for it."""
        self.leaving = False
        self.known = False
        """Whether all its lanes that are awake are on the list of those to take up."""
        self.overslept = False
        """Whether something had to wait because its lease was about to end."""
        self.lanes: dict[int, Lane] = {}

    @property
    def quiet(self) -> bool:
        """Whether no lane of it has a request on its way or a settlement to write."""
        return all(lane.quiet for lane in self.lanes.values())


Finished = tuple["LaneState", Due, Settlement | Resent]
"""An attempt that ended, and what is to be written down of it."""


class Context:
    """Shared by all lanes. `finished` is settled, `hungry` fetched for, and `ticking` ticked."""

    def __init__(  # noqa: PLR0913  what lanes share, spelled out once
        self,
        *,
        now: Callable[[], float],
        later: Later,
        draw: Callable[[], float],
        chance: Callable[[int], bytes] = entropy,
        sender: Sender,
        limits: Limits,
        parking: Parking,
    ) -> None:
        self.now = self.wall = now
        self.later = later
        self.alarms = Alarms(now, later)
        self.draw = draw
        self._chance = chance
        self.sender = sender
        self.limits = limits
        self.parking = parking
        self.note = self.notice  # one for all records: each would have its own otherwise
        self.slots = Slots(limits.in_flight)
        self.buffered = Buffered()
        self.finished: list[Finished] = []
        self.unsettled = 0
        self.changes: dict[int, Change] = {}
        self.hungry: dict[LaneState, None] = {}
        self.resting: dict[Lane, None] = {}
        self.ticking: dict[Ticking, None] = {}
        self.learned = False
        """Whether there is something to put on record of an origin."""
        self.stopped: dict[Lane, None] = {}
        """Those that send nothing because too much is not written down."""
        self.wake: Callable[[], None] = lambda: None
        """Called when something was put on one of the lists."""
        self.doubt: Callable[[], None] = lambda: None
        """Called when a lease may have been lost."""
        self.look_again: Callable[[Iterable[int]], None] = lambda _: None
        """Called with lanes whose endpoints were changed since they were taken up."""
        self.sent = self.delivered = self.failed = self.stale = self.probes = 0
        self.stalled = 0
        """Lanes that the watchdog had to wake: each is a defect."""
        self.unwritable = 0
        """Settlements and changes that the store refused as they were: each is a defect."""

    def earlier_now(self) -> float:
        """Return the time to reckon ages with: the earlier of both clocks.

        Messages are accepted by a wall clock. After a step some were accepted by it as it was
        before, and some as it is now: none of them may count as too old before its time.
        """
        return min(self.now(), self.wall())

    def finish(self, lane: "LaneState", due: Due, settlement: Settlement | Resent) -> None:
        """Put something on the list of what is to be settled."""
        self.unsettled += 1
        lane.unsettled += 1
        if not self.finished:
            self.wake()
        self.finished.append((lane, due, settlement))

    def feed(self, lane: "LaneState") -> None:
        """Put a lane on the list of those that want more rows."""
        if not self.hungry:
            self.wake()
        self.hungry[lane] = None

    def is_full(self) -> bool:
        """Whether so much waits in memory that only who has nothing at hand is given a row."""
        return self.buffered.bytes >= self.limits.buffered_bytes

    def learn(self) -> None:
        """Have put on record what was learned of origins."""
        if not self.learned:
            self.wake()
        self.learned = True

    def let_rest(self, lane: "Lane") -> None:
        """Put a lane on the list of those that have nothing to send just now."""
        if not self.resting:
            self.wake()
        self.resting[lane] = None

    def forget(self, lane: "Lane") -> None:
        """Take a lane off all lists but what is to be settled."""
        self.hungry.pop(lane, None)
        self.resting.pop(lane, None)
        self.stopped.pop(lane, None)
        self.ticking.pop(lane, None)
        self.slots.forget(lane)

    def tick(self, ticking: Ticking) -> None:
        """Have something looked at every tick."""
        if not self.ticking:
            self.wake()
        self.ticking[ticking] = None

    def id(self, prefix: str, now: float) -> str:
        """A new id."""
        return ids.make(prefix, now=now, entropy=self._chance(ids.CHANCE))

    def change(self, change: Change) -> None:
        """Have a change of a lane written down with the next settlements."""
        for notice in change.notices:
            # One endpoint is worth a warning; its messages may be many.
            level = logging.INFO if notice.kind.startswith("message.") else logging.WARNING
            log.log(level, "%s: %s %s", notice.kind, notice.endpoint, notice.facts)
        if not self.changes:
            self.wake()
        self.changes[change.lane] = joined(self.changes.get(change.lane), change)

    def unwritten(self, change: Change) -> None:
        """Take back a change that could not be written down: later ones count more."""
        later = self.changes.get(change.lane)
        self.changes[change.lane] = change if later is None else joined(change, later)

    def notice(
        self,
        application: str,
        endpoint: str,
        kind: str,
        now: float,
        facts: dict[str, str | float | None],
    ) -> Notice:
        """Something an endpoint's owner should hear of."""
        return Notice(
            id=self.id(ids.NOTICE, now),
            application=application,
            endpoint=endpoint,
            kind=kind,
            facts=dict(facts),
            at=now,
        )
