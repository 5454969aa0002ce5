"""Limits on sends: even spacing, the rate of an application, and the slots of the process.

- `Spacing`: sends at even intervals, without catching up after a stall. Gates use it for their pace
  as well, and lanes for the rate that their endpoint's owner set.
- `TenantRate`: lanes take turns at their application's rate, so that no lane uses it all up.
- `Slots`: a process has slots for requests in flight, and slots for attempts whose outcomes are not
  written yet. Each tenant has its share of them (`Shares`), so the tenant that holds the most is
  the first to wait. Slots that become free go to the tenants in turn, and so do the requests that
  one turn of the event loop may send.
- `Round`: waiting lanes by application, in the order of their turns.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator
from typing import Generic, Protocol, TypeVar

from tarry.core.spacing import next_slot
from tarry.service.dispatch.clock import LONG_AGO, Later, Timer
from tarry.service.model.application import Shares

# --- Sends at a rate ----------------------------------------------------------------------------

MARGIN = 0.02
"""The share by which sends stay below a limit. A receiver that counts the arrivals of any second
must not find more than the limit, although `core.spacing` makes up for 10 ms of a late timer and
networks delay some requests by a few more."""
LONGEST_ASSUMED = 60.0
"""A send waits at most this many seconds because another owner may have sent just before. Otherwise
restarts could keep a slow lane from ever sending."""


class Spacing:
    """Tells when the next send may go at a rate. The rate may change between two sends."""

    __slots__ = ("_free_at", "_sent_at", "rate")

    rate: float

    def __init__(self, rate: float = math.inf) -> None:
        self.rate = rate
        self._free_at = self._sent_at = LONG_AGO

    def limit(self, rate: float | None) -> None:
        """Allow at most `rate` sends in any second; earlier sends still count."""
        self.rate = math.inf if rate is None else rate / (1 + MARGIN)
        if 0 < self.rate < math.inf:
            # The slot was reckoned by the old rate, which may have been much slower.
            self._free_at = min(self._free_at, self._sent_at + 1 / self.rate)

    def pace(self, rate: float) -> None:
        """Send at exactly this rate from now on."""
        self.rate = rate

    def free_at(self, now: float) -> float:
        """Return when the next send may go."""
        return now if math.isinf(self.rate) else max(now, self._free_at)

    def assume_sent(self, at: float) -> None:
        """Keep the distance to a send that the last owner may have made, at the latest at `at`."""
        if 0 < self.rate < math.inf:
            self._free_at = max(self._free_at, at + min(1 / self.rate, LONGEST_ASSUMED))
            self._sent_at = max(self._sent_at, at)

    def sent(self, now: float) -> None:
        """Count a send."""
        if 0 < self.rate < math.inf:
            self._free_at = next_slot(self._free_at, sent_at=now, rate=self.rate)
            self._sent_at = now


NO_SPACING = Spacing()
"""For lanes and gates without a rate. It has no state, so all of them share it."""


# --- A rate that lanes share --------------------------------------------------------------------


class Taker(Protocol):
    """A lane that waits for its turn."""

    def pump(self) -> None:
        """Send what may be sent now."""


class TenantRate:
    """An application's rate, and the lanes that wait for their turn."""

    def __init__(self, now: Callable[[], float], later: Later) -> None:
        self._now, self._later = now, later
        self._spacing = Spacing()
        self._waiting: OrderedDict[Taker, None] = OrderedDict()
        self._passed_over: dict[Taker, None] = {}
        """Lanes that sent nothing in their turn, because their rows were being read: they go first
        when they ask again."""
        self._called: Taker | None = None
        self._timer: Timer | None = None

    def limit(self, rate: float | None) -> None:
        """Change the rate; earlier sends still count."""
        self._spacing.limit(rate)

    def assume_sent(self, at: float) -> None:
        """Keep the distance to a send that the last owner may have made, at the latest at `at`."""
        self._spacing.assume_sent(at)

    def admits(self, taker: Taker, now: float) -> bool:
        """Return whether a lane may send; if not, it is pumped when it is its turn."""
        if math.isinf(self._spacing.rate):
            return True
        goes_first = taker in self._passed_over
        self._passed_over.pop(taker, None)
        if self._spacing.free_at(now) <= now and (taker is self._called or not self._waiting):
            return True
        if taker not in self._waiting:
            self._waiting[taker] = None
            self._waiting.move_to_end(taker, last=not goes_first)
        self._look_ahead(now)
        return False

    def sent(self, now: float) -> None:
        """Count a send."""
        self._spacing.sent(now)

    def idle(self, now: float) -> bool:
        """Return whether no lane waits and the last send is past: a new object is as good."""
        return not self._waiting and self._spacing.free_at(now) <= now

    def leave(self, taker: Taker) -> None:
        """Remove a lane from the queue."""
        self._passed_over.pop(taker, None)
        self._waiting.pop(taker, None)

    def _look_ahead(self, now: float) -> None:
        """Set a timer for when the limit lets the next request pass, unless one is set."""
        if self._timer is None and self._called is None:
            self._timer = self._later(max(0.0, self._spacing.free_at(now) - now), self._call)

    def _call(self) -> None:
        """Let the waiting lanes send, one after the other, as far as the rate allows."""
        self._timer = None
        for _ in range(len(self._waiting)):
            now = self._now()
            if self._spacing.free_at(now) > now:
                break
            taker, _ = self._waiting.popitem(last=False)
            self._called = taker
            taker.pump()
            if self._spacing.free_at(now) <= now:
                self._passed_over[taker] = None
        self._called = None
        if self._waiting:
            self._look_ahead(self._now())


# --- Whose turn it is ---------------------------------------------------------------------------

LaneT = TypeVar("LaneT")


class Round(Generic[LaneT]):
    """Waiting lanes by application. Applications take turns, and so do the lanes of each."""

    __slots__ = ("_applications",)

    def __init__(self) -> None:
        self._applications: dict[str, dict[LaneT, None]] = {}

    def __len__(self) -> int:
        """Return how many applications have a lane that waits."""
        return len(self._applications)

    def __iter__(self) -> Iterator[LaneT]:
        for lanes in self._applications.values():
            yield from lanes

    def add(self, application: str, lane: LaneT) -> None:
        """Put a lane at the end of its application's lanes, unless it waits already."""
        self._applications.setdefault(application, {})[lane] = None

    def discard(self, application: str, lane: LaneT) -> None:
        """Take a lane out, if it is there."""
        lanes = self._applications.get(application)
        if lanes is not None:
            lanes.pop(lane, None)
            if not lanes:
                del self._applications[application]

    def has_but(self, applications: Container[str]) -> bool:
        """Return whether a lane waits whose application is not among these."""
        return any(application not in applications for application in self._applications)

    @property
    def next_application(self) -> str:
        """The application whose turn it is."""
        return next(iter(self._applications))

    def skip(self) -> None:
        """Send the application whose turn it is to the end of the round."""
        application = self.next_application
        self._applications[application] = self._applications.pop(application)

    def pop(self, barred: Container[str] = ()) -> LaneT:
        """Remove and return the lane whose turn it is; skip applications that are `barred`.

        Its application goes to the end of the round.
        """
        application = next(name for name in self._applications if name not in barred)
        lanes = self._applications.pop(application)
        lane = next(iter(lanes))
        del lanes[lane]
        if lanes:
            self._applications[application] = lanes
        return lane


# --- Slots that lanes share ---------------------------------------------------------------------


class SlotUser(Protocol):
    """A lane that needs slots."""

    @property
    def tenant(self) -> str:
        """The application that the lane belongs to."""

    def pump(self) -> None:
        """Send what may be sent now."""


MOST_IN_A_TURN = 32
"""How many slots are taken in one turn of the event loop, if a `Slots` counts turns. If hundreds of
answers that come at once led to hundreds of requests at once, everything else on the loop would
wait for tens of milliseconds, also what other tenants need."""


class Slots:
    """A number of slots, and the lanes that wait for one.

    With `later`, at most `MOST_IN_A_TURN` slots are taken in one turn of the event loop.
    """

    def __init__(self, most: int, later: Later | None = None) -> None:
        self._shares = Shares(most)
        self._waiting = Round[SlotUser]()
        self._later = later
        self._taken, self._limit = 0, MOST_IN_A_TURN
        """How many slots were taken in this turn, and the number at which the lane that sends now
        has to stop."""
        self._part = MOST_IN_A_TURN
        """How many slots a tenant may take in this turn before it is the next one's turn."""

    @property
    def free(self) -> int:
        """How many slots are free."""
        return self._shares.free

    def room(self, lane: SlotUser) -> int:
        """Return how many more slots are free than the lane's tenant holds."""
        return max(0, self._shares.free - self._shares.held(lane.tenant))

    def take(self, lane: SlotUser) -> bool:
        """Take a slot and return True; otherwise queue the lane for one and return False."""
        tenant = lane.tenant
        if self._taken >= self._limit or not self._shares.allows(tenant):
            self._waiting.add(tenant, lane)
            return False
        self._shares.take(tenant)
        if self._later is not None:
            if not self._taken:
                self._later(0.0, self._begin_turn)
            self._taken += 1
        return True

    def take_anyway(self, lane: SlotUser) -> None:
        """Take a slot, also beyond the tenant's share: for something that cannot wait."""
        self._shares.take(lane.tenant)

    def give_back(self, lane: SlotUser) -> None:
        """Free a slot."""
        self._shares.give_back(lane.tenant)

    def serve(self) -> None:
        """Let lanes send that wait for a slot, one tenant after the other.

        Call it for each slot that became free. A tenant that has its share is skipped: it holds
        slots, so at most as many tenants are skipped as there are slots.
        """
        skipped = 0
        while skipped < len(self._waiting) and self.free > 0 and self._taken < MOST_IN_A_TURN:
            if self._shares.allows(self._waiting.next_application):
                self._limit = min(MOST_IN_A_TURN, self._taken + self._part)
                self._waiting.pop().pump()
            else:
                self._waiting.skip()
                skipped += 1
        self._limit = MOST_IN_A_TURN

    def _begin_turn(self) -> None:
        """Start a turn: divide its requests among the waiting lanes, and serve them."""
        self._taken = 0
        self._part = max(1, MOST_IN_A_TURN // max(1, len(self._waiting)))
        self.serve()

    def forget(self, lane: SlotUser) -> None:
        """Remove a lane from the queue."""
        self._waiting.discard(lane.tenant, lane)
