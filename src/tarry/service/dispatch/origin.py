"""An origin (scheme, host and port): what its lanes share when all of it is in trouble.

While it is well, its lanes know nothing of each other. When nobody is there, or several of them
fail and none passes, they share one gate: a dead gateway with 2,000 endpoints is probed as one, and
comes back as one.
"""

import logging
from typing import TYPE_CHECKING

from tarry.core.pace import Pace, Phase
from tarry.service.dispatch.desk import Desk
from tarry.service.dispatch.gate import RULE, Gate
from tarry.service.dispatch.spacing import LONG_AGO
from tarry.service.dispatch.sparse import NOTHING, put, without

if TYPE_CHECKING:
    from tarry.service.dispatch.alarms import Timer
    from tarry.service.dispatch.landing import Landing

log = logging.getLogger("tarry.service")

SEVERAL = 3
"""So many lanes that fail speak for their origin; fewer may have troubles of their own."""
_WELL = Gate(Pace(), float)
"""The gate of all origins that were never in trouble: nothing goes by it."""


class Origin:
    """The lanes of one origin in this process, and the gate they share while it is not closed.

    There are as many as lanes if each has a host of its own, so it is kept small.
    """

    __slots__ = (
        *("_failing", "_failures", "_held", "_passed_at", "_queue", "_serving", "_timer"),
        *("_unreachable", "desk", "dirty", "gate", "hold_until", "lanes", "name"),
    )

    def __init__(self, name: str, desk: Desk, pace: Pace) -> None:
        self.name = name
        self.desk = desk
        self.gate = _WELL if pace == Pace() else Gate(pace, desk.draw)
        self.lanes: dict[int, Landing] = {}
        self.hold_until = 0.0
        self.dirty = False
        self._queue: dict[Landing, None] = NOTHING
        self._serving = False
        self._timer: Timer | None = None
        self._failures = self._unreachable = 0
        self._failing: dict[int, None] = NOTHING
        self._held: dict[int, float] = NOTHING
        self._passed_at = LONG_AGO
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
        self._queue = put(self._queue, lane, None)
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
            lane = next(iter(self._queue))
            self._queue = without(self._queue, lane)
            lane.pump(turn=True)
            free_at = self._free_at(now)
        self._serving = False
        if self._queue and free_at < float("inf"):
            self._timer = self.desk.later(max(0.0, free_at - now), self.serve)

    def leave(self, lane: "Landing") -> None:
        """One of its lanes is another's now, or somebody else's."""
        self.lanes.pop(lane.number, None)
        self._queue = without(self._queue, lane)
        if lane.in_flight and self.shared:
            # The others may wait for an answer that will not be told to this origin any more.
            self.desk.later(lane.outfit.timeout, self.serve)

    def _free_at(self, now: float) -> float:
        return max(self.hold_until, self.gate.free_at(now, self.desk.limits.lane_in_flight))

    # --- What its lanes saw ---------------------------------------------------------------------

    def saw(self, lane: "Landing", *, passed: bool, unreachable: bool, now: float) -> None:
        """An answer at one of its lanes, while they are on their own."""
        if passed:
            self._passed_at = now
            if self._failures:
                self._failures = self._unreachable = 0
                self._failing = NOTHING
            return
        if len(self.lanes) == 1:
            return  # there is nobody to speak for
        self._failures += 1
        self._unreachable += unreachable
        self._failing = put(self._failing, lane.number, None)
        speaks = len(self._failing) >= SEVERAL or self._unreachable >= RULE.failures
        silent = now - self._passed_at >= RULE.silence
        if self._failures >= RULE.failures and speaks and silent:
            self._open(now)

    def held(self, lane: "Landing", until: float, now: float) -> None:
        """One of its lanes was told to come back later; of several it is meant for all."""
        held = put(self._held, lane.number, until)
        self._held = {number: at for number, at in held.items() if at > now} or NOTHING
        if len(self._held) >= SEVERAL:
            self.hold_until = max(self.hold_until, min(self._held.values()))

    def _open(self, now: float) -> None:
        if self.gate is _WELL:
            self.gate = Gate(Pace(), self.desk.draw)
        self.gate.open(now, max(1, self.waiting()))
        self._turned()
        self._failures = self._unreachable = 0
        self._failing = NOTHING
        for lane in list(self.lanes.values()):
            lane.shared(now)

    def _turned(self) -> None:
        said = "all %d lanes to %s are %s; %d wait"
        log.info(said, len(self.lanes), self.name, self.gate.phase, self.waiting())
        self._learned()

    def _learned(self) -> None:
        self.dirty = True
        self.desk.learn()

    def answered(self, now: float) -> None:
        """An answer came to its gate."""
        if self.gate.phase is Phase.OPEN:
            self.tick(now)
        self.serve()

    def tick(self, now: float) -> bool:
        """Look at the answers; whether it wants to be asked again."""
        # While it is open, it does not matter how many wait.
        if self.gate.step(now, 1 if self.gate.phase is Phase.OPEN else self.waiting()):
            self._turned()
            for lane in list(self.lanes.values()):
                lane.turned(self.gate.phase, now)
            if self.gate.ticks(now):
                self.desk.tick(self)
        elif self.gate.phase is Phase.OPEN:
            self._learned()  # a probe failed: who asks is told when the next one goes
        self.serve()
        return self.gate.ticks(now)
