"""An origin (scheme, host and port): what its lanes share when all of it is in trouble.

While it is well, its lanes know nothing of each other. When nobody is there, or several of them
fail and none passes, they share one gate: a dead gateway with 2,000 endpoints is probed as one, and
comes back as one. What is about one endpoint alone, a token that was revoked or a page that is not
there, says nothing about the others until several say so.
"""

import logging
import math
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from tarry.core.pace import Pace, Phase
from tarry.service.dispatch.desk import Desk
from tarry.service.dispatch.evidence import NO_FAILURES, NO_REFUSALS, SEVERAL
from tarry.service.dispatch.gate import RULE, Gate
from tarry.service.dispatch.sparse import NOTHING, put, without

if TYPE_CHECKING:
    from tarry.service.dispatch.alarms import Timer
    from tarry.service.dispatch.judge import Judgement
    from tarry.service.dispatch.turning import Turning

log = logging.getLogger("tarry.service")

_WELL = Gate(Pace(), float)
"""The gate of all origins that were never in trouble: nothing goes by it."""


class Origin:
    """The lanes of one origin in this process, and the gate they share while it is not closed.

    There are as many as lanes if each has a host of its own, so it is kept small.
    """

    __slots__ = (
        *("_early", "_failures", "_first", "_held", "_passed_at", "_patient_until", "_queue"),
        *("_refusals", "_serving", "_timer", "desk", "dirty", "gate", "lanes", "name"),
    )

    def __init__(self, name: str, desk: Desk, pace: Pace) -> None:
        self.name = name
        self.desk = desk
        self.gate = _WELL if pace == Pace() else Gate(pace, desk.draw)
        self.lanes: dict[int, Turning] = {}
        self.dirty = False
        self._queue: dict[Turning, None] = NOTHING
        self._first: dict[Turning, None] = NOTHING
        """Lanes whose turn is before those in the queue."""
        self._serving = False
        self._timer: Timer | None = None
        self._failures, self._refusals = NO_FAILURES, NO_REFUSALS
        self._held: dict[int, float] = NOTHING
        """Lanes that were told to come back later, and when."""
        # It was well when it was last heard of: what is open on its own has been so before.
        self._passed_at = desk.now() - RULE.silence
        self._early = 0.0
        """By how many seconds probes were brought forward that is not made up for yet."""
        self._patient_until = 0.0
        """Until then no other lane that comes first has a probe brought forward."""
        if self.shared:
            desk.tick(self)

    @property
    def shared(self) -> bool:
        """Whether its lanes go by its gate and not by their own."""
        return self.gate.phase is not Phase.CLOSED

    def waiting(self) -> int:
        """How many deliveries wait for it, those in the air left out."""
        return sum(lane.waiting() for lane in self.lanes.values() if not lane.apart)

    # --- Whose turn it is -----------------------------------------------------------------------

    def queue(self, lane: "Turning") -> None:
        """Let a lane send when it is its turn."""
        refusing = self.gate.phase is Phase.OPEN and self._refusals.of_all
        if refusing and not lane.doubts.refusals:
            self._queue_first(lane)
        else:
            self._queue = put(self._queue, lane, None)
        if not self._serving:
            self.serve()

    def _queue_first(self, lane: "Turning") -> None:
        """Ask one first that was not refused yet: somebody is there, who refused some others.

        It goes at once, in place of a probe to come; until that one's time the next have to wait.
        """
        self._queue = without(self._queue, lane)
        self._first = put(self._first, lane, None)
        now = self.desk.now()
        if now >= self._patient_until:
            self._patient_until = self.gate.pace.probe_at
            self._early += self.gate.hurry(now)

    def serve(self) -> None:
        """Let lanes send in turns, as far as the gate allows."""
        self._serving = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self.desk.now()
        free_at = self._free_at(now)
        for _ in range(len(self._first) + len(self._queue)):
            if free_at > now:
                break
            lane = next(iter(self._first or self._queue))
            self._unqueue(lane)
            lane.pump(turn=True)
            free_at = self._free_at(now)
        self._serving = False
        if (self._first or self._queue) and free_at < math.inf:
            self._timer = self.desk.later(max(0.0, free_at - now), self.serve)

    def leave(self, lane: "Turning") -> None:
        """One of its lanes is another's now, or somebody else's."""
        self.lanes.pop(lane.number, None)
        self._unqueue(lane)
        lane.apart = False
        if lane.in_flight and self.shared:
            # The others may wait for an answer that will not be told to this origin any more.
            self.desk.later(lane.outfit.timeout, self.serve)

    def _has_others(self) -> bool:
        """Whether somebody waits for a turn who was not just refused."""
        refused = self._refusals.lanes
        return any(lane.number not in refused for lane in chain(self._first, self._queue))

    def _unqueue(self, lane: "Turning") -> None:
        self._first = without(self._first, lane)
        self._queue = without(self._queue, lane)

    def _free_at(self, now: float) -> float:
        return max(
            self.gate.pace.held_until, self.gate.free_at(now, self.desk.limits.lane_in_flight)
        )

    # --- What its lanes saw ---------------------------------------------------------------------

    def saw(self, lane: "Turning", *, passed: bool, unreachable: bool, now: float) -> None:
        """An answer at one of its lanes, while they are on their own."""
        if passed:
            self._passed(now)
            return
        if len(self.lanes) == 1:
            return  # there is nobody to speak for
        own = lane.gate
        if own.phase is Phase.OPEN and own.pace.down_since <= self._passed_at and not unreachable:
            return  # others passed while it was down: its troubles are its own
        self._failures = self._failures.add(lane.number, unreachable=unreachable)
        if self._failures.of_all and self._is_down(now):
            self._open(now)

    def _is_down(self, now: float) -> bool:
        """Whether enough failed, and nothing passed for long enough."""
        return self._failures.many and now - self._passed_at >= RULE.silence

    def _passed(self, now: float) -> None:
        """Somebody is there: what failed until now is not the trouble of all."""
        self._passed_at = now
        self._failures = NO_FAILURES
        if self._refusals.lanes:
            self._refusals = self._refusals.passed(self._refused_before())

    def _refused_before(self) -> Iterable[int]:
        """Those that were refused: it is about them alone if others pass."""
        if self.gate.phase is not Phase.OPEN:
            return self._refusals.lanes
        # Also those that it was meant for all of before; they may be many, but this is rare.
        return [number for number, lane in self.lanes.items() if lane.doubts.refusals]

    def refused(self, lane: "Turning") -> None:
        """One was refused at the shared gate: that counts until somebody passes."""
        if lane.number in self._refusals.own and self.gate.phase is Phase.PACED:
            return  # others passed after it was refused before
        self._refusals = self._refusals.add(lane.number)

    def refuses(self, lane: "Turning") -> bool:
        """Whether a lane is one of so many that are refused that it is meant for all."""
        return self._refusals.of_all and lane.number in self._refusals.lanes

    def held(self, lane: "Turning", until: float, now: float) -> None:
        """One of its lanes was told to come back later; of several it is meant for all."""
        held = put(self._held, lane.number, until)
        self._held = {number: at for number, at in held.items() if at > now} or NOTHING
        if len(self._held) >= SEVERAL:
            self._get_a_gate()
            self.gate.hold(max(self.gate.pace.held_until, min(self._held.values())))
            self._learned()  # who asks when something goes is told, too

    def answered(self, lane: "Turning", judgement: "Judgement", now: float) -> None:
        """An answer came to its gate, which knows of it."""
        if judgement.alive:
            self._passed(now)
            self._refusals = self._refusals.taken(lane.number)
        elif not judgement.private:
            self._refusals = self._refusals.failed()
            self._failures = self._failures.add(lane.number, unreachable=judgement.unreachable)
        elif self.refuses(lane):
            self._failures = self._failures.add(lane.number, unreachable=False)
            if self.gate.phase is Phase.PACED and self._is_down(now):
                self._open(now)  # it is no overload: going slower would not help
        if self.gate.phase is Phase.OPEN:
            self._ask_another(now, private=judgement.private)
            self.tick(now)
        self.serve()

    def _ask_another(self, now: float, *, private: bool) -> None:
        """A probe that learned of one endpoint alone did not find out: another goes at once.

        It is one of those to come, brought forward. If it does not pass either, the next one is
        as late as it would have been: probes do not become more by that.
        """
        asks = private and self._refusals.is_news and not self._refusals.of_all
        if asks and self._has_others():
            self._early += self.gate.hurry(now)
        else:
            self.gate.delay(self._early)
            self._early = 0.0

    # --- Its gate moves -------------------------------------------------------------------------

    def _open(self, now: float) -> None:
        """All of it is in trouble: its lanes go by its gate from now on."""
        self._get_a_gate()
        self.gate.open(now, max(1, self.waiting()))
        self._turned()
        self._refusals = self._refusals.opened()
        for lane in list(self.lanes.values()):
            lane.shared(now)

    def tick(self, now: float) -> bool:
        """Look at the answers; whether it wants to be asked again."""
        # While it is open, it does not matter how many wait.
        if self.gate.step(now, 1 if self.gate.phase is Phase.OPEN else self.waiting()):
            if self.gate.phase is Phase.OPEN and not self._failures.of_all:
                self._disband(now)
                return False
            self._turned()
            if self.gate.phase is Phase.CLOSED:
                self._passed_at = now  # who is open still has troubles of its own
            for lane in list(self.lanes.values()):
                lane.origin_turned(self.gate.phase, now)
            if self.gate.ticks(now):
                self.desk.tick(self)
        elif self.gate.phase is Phase.OPEN:
            self._learned()  # a probe failed: who asks is told when the next one goes
        self.serve()
        return self.gate.ticks(now)

    def _disband(self, now: float) -> None:
        """Too few fail to speak for it: they are open on their own, and nobody waits for them."""
        failing, capacity = self._failures.lanes, self.gate.pace.capacity
        self.gate.close()
        self._turned()
        self._passed_at = now
        for lane in list(self.lanes.values()):
            if lane.apart:
                lane.apart = False
            elif lane.number in failing:
                lane.alone(now, capacity)
            else:
                lane.released(now)

    def _turned(self) -> None:
        """The gate is in another phase: what failed before it is of no account any more."""
        self._failures = NO_FAILURES
        self._early = 0.0
        if self.lanes:  # none are left once the dispatcher was told to stop
            said = "all %d lanes to %s are %s; %d wait"
            log.info(said, len(self.lanes), self.name, self.gate.phase, self.waiting())
        self._learned()

    def _learned(self) -> None:
        """Have it put on record, for other processes and for who asks."""
        self.dirty = True
        self.desk.learn()

    def _get_a_gate(self) -> None:
        """Have one of its own, as soon as something goes by it."""
        if self.gate is _WELL:
            self.gate = Gate(Pace(), self.desk.draw)
