"""An origin (scheme, host and port): what its lanes share when all of it is in trouble.

While it is well, its lanes know nothing of each other. When nobody is there, or several of them
fail and none passes, they share one gate: a dead gateway with 2,000 endpoints is probed as one, and
comes back as one.
"""

from collections import deque
from typing import TYPE_CHECKING

from tarry.core.pace import Pace, Phase
from tarry.service.dispatch.desk import Desk, Timer
from tarry.service.dispatch.gate import RULE, Gate

if TYPE_CHECKING:
    from tarry.service.dispatch.landing import Landing

SEVERAL = 3
"""So many lanes that fail speak for their origin; fewer may have troubles of their own."""


class Origin:
    """The lanes of one origin in this process, and the gate they share while it is not closed."""

    def __init__(self, name: str, desk: Desk, pace: Pace) -> None:
        self.name = name
        self.desk = desk
        self.gate = Gate(pace, desk.draw)
        self.lanes: dict[int, Landing] = {}
        self.hold_until = 0.0
        self.dirty = False
        self._queue: deque[Landing] = deque()
        self._queued: set[Landing] = set()
        self._serving = False
        self._timer: Timer | None = None
        self._failures = self._unreachable = 0
        self._failing: set[int] = set()
        self._held: dict[int, float] = {}
        self._passed_at = float("-inf")
        if self.shared:
            desk.tick(self)

    @property
    def shared(self) -> bool:
        """Whether its lanes go by its gate and not by their own."""
        return self.gate.phase is not Phase.CLOSED

    def waiting(self) -> int:
        """How many deliveries wait for it, those in the air left out."""
        return sum(lane.waiting() for lane in self.lanes.values())

    # --- Whose turn it is -----------------------------------------------------------------------

    def queue(self, lane: "Landing") -> None:
        """Let a lane send when it is its turn."""
        if lane not in self._queued:
            self._queued.add(lane)
            self._queue.append(lane)
        if not self._serving:
            self.serve()

    def serve(self) -> None:
        """Let lanes send in turns, as far as the gate allows."""
        self._serving = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self.desk.now()
        free_at = self._free_at(now)
        for _ in range(len(self._queue)):
            if free_at > now:
                break
            lane = self._queue.popleft()
            self._queued.discard(lane)
            lane.pump(turn=True)
            free_at = self._free_at(now)
        self._serving = False
        if self._queue and free_at < float("inf"):
            self._timer = self.desk.later(max(0.0, free_at - now), self.serve)

    def leave(self, lane: "Landing") -> None:
        """One of its lanes is another's now, or somebody else's."""
        self.lanes.pop(lane.number, None)
        if lane in self._queued:
            self._queued.discard(lane)
            self._queue.remove(lane)

    def _free_at(self, now: float) -> float:
        return max(self.hold_until, self.gate.free_at(now, self.desk.limits.lane_in_flight))

    # --- What its lanes saw ---------------------------------------------------------------------

    def saw(self, lane: "Landing", *, passed: bool, unreachable: bool, now: float) -> None:
        """An answer at one of its lanes, while they are on their own."""
        if passed:
            self._passed_at = now
            if self._failures:
                self._failures = self._unreachable = 0
                self._failing.clear()
            return
        self._failures += 1
        self._unreachable += unreachable
        self._failing.add(lane.number)
        speaks = len(self._failing) >= SEVERAL or self._unreachable >= RULE.failures
        if (
            len(self.lanes) > 1
            and self._failures >= RULE.failures
            and speaks
            and now - self._passed_at >= RULE.silence
        ):
            self._open(now)

    def held(self, lane: "Landing", until: float, now: float) -> None:
        """One of its lanes was told to come back later; of several it is meant for all."""
        self._held[lane.number] = until
        self._held = {number: at for number, at in self._held.items() if at > now}
        if len(self._held) >= SEVERAL:
            self.hold_until = max(self.hold_until, min(self._held.values()))

    def _open(self, now: float) -> None:
        self.gate.open(now, max(1, self.waiting()))
        self.dirty = True
        self._failures = self._unreachable = 0
        self._failing.clear()
        for lane in list(self.lanes.values()):
            lane.shared(now)

    def answered(self, now: float) -> None:
        """An answer came to its gate."""
        if self.gate.phase is Phase.OPEN:
            self.tick(now)
        self.serve()

    def tick(self, now: float) -> bool:
        """Look at the answers; whether it wants to be asked again."""
        if self.gate.step(now, self.waiting()):
            self.dirty = True
            for lane in list(self.lanes.values()):
                lane.turned(self.gate.phase, now)
            if self.gate.ticks(now):
                self.desk.tick(self)
        self.serve()
        return self.gate.ticks(now)
