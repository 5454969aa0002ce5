"""The lanes that wait for their turn at a gate that they share.

Applications take turns, and so do the lanes of each: an application with 2,000 endpoints behind a
gateway does not keep one with a single endpoint waiting. Lanes that did not fail since their last
success go first: at once and before all others while the gate is open. While it is paced they take
turns with lanes in doubt, which are tried one by one.
"""

import math
from collections.abc import Container
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from tarry.core.pace import Phase
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.dispatch.limits.shared import Round
from tarry.service.dispatch.origins.member import Member

if TYPE_CHECKING:
    from tarry.service.dispatch.clock import Timer

EARLY_PROBE_INTERVAL = 1.0
"""Seconds between two probes that are brought forward, at least."""

TRIALS = 3
"""Requests of lanes in doubt that may be in flight at a paced gate: fewer than it has room for."""


class MayProbe(Protocol):
    """Decides whether this worker may probe, where several workers could."""

    def __call__(self, *, first: bool) -> bool:
        """Return whether a probe may go now, of a lane that goes first or not.

        If not, `serve` is called later.
        """


class TurnQueue:
    """The lanes that wait for a shared gate, and the timer that serves them."""

    __slots__ = (
        *("_context", "_early", "_first", "_gate", "_last", "_may_probe", "_others"),
        *("_patient_until", "_serving", "_timer", "_trials"),
    )

    def __init__(self, gate: Gate, context: Context, may_probe: MayProbe) -> None:
        self._gate, self._context, self._may_probe = gate, context, may_probe
        self._first, self._others = Round[Member](), Round[Member]()
        self._last = self._others
        """The round of the lane that was served last."""
        self._trials: dict[Member, None] = {}
        """Lanes in doubt that were served at a paced gate."""
        self._serving = False
        self._timer: Timer | None = None
        self._early = 0.0
        """By how many seconds probes were brought forward, as far as not made up for yet."""
        self._patient_until = 0.0
        """No probe is brought forward before this time for a lane that goes first."""

    # --- The lanes that wait --------------------------------------------------------------------

    def add(self, lane: Member, *, first: bool) -> None:
        """Let a lane send when its turn comes; with `first` before the others.

        At an open gate, a lane that goes `first` sends at once.
        """
        if first:
            self._others.discard(lane.tenant, lane)
            self._first.add(lane.tenant, lane)
            if self._gate.phase is Phase.OPEN:
                self._bring_forward()
        else:
            self._first.discard(lane.tenant, lane)
            self._others.add(lane.tenant, lane)
        if not self._serving:
            self.serve()

    def discard(self, lane: Member) -> None:
        """Take a lane out: neither the lane nor its trial uses this gate any more."""
        self._first.discard(lane.tenant, lane)
        self._others.discard(lane.tenant, lane)
        self._trials.pop(lane, None)

    def has_lanes_but(self, numbers: Container[int]) -> bool:
        """Return whether a lane waits whose number is not among these."""
        return any(lane.number not in numbers for lane in chain(self._first, self._others))

    def has_applications_but(self, applications: Container[str]) -> bool:
        """Return whether a lane waits whose application is not among these."""
        return self._first.has_but(applications) or self._others.has_but(applications)

    def close(self) -> None:
        """Remove all lanes and stop the timer."""
        self._first, self._others = Round[Member](), Round[Member]()
        self._stop_timer()

    # --- Whose turn it is -----------------------------------------------------------------------

    def serve(self) -> None:
        """Let lanes send in turns, as far as the gate allows."""
        self._serving = True
        self._stop_timer()
        now = self._context.now()
        while (waiting := self._next(now)) is not None:
            if self._must_wait(waiting):
                self._serving = False
                return
            self._last = waiting
            if waiting is self._first or self._gate.phase is Phase.OPEN:
                waiting.pop().take_turn()
            else:
                lane = waiting.pop(self._on_trial())
                self._trials[lane] = None
                lane.take_turn()
        self._serving = False
        rounds = (self._first, self._others)
        free_at = min((self._free_at(turn, now) for turn in rounds if turn), default=math.inf)
        if free_at < math.inf:
            self._timer = self._context.later(max(0.0, free_at - now), self.serve)

    def _must_wait(self, waiting: Round[Member]) -> bool:
        """Return whether a probe of one of these waits until this worker may send it."""
        is_open = self._gate.phase is Phase.OPEN
        return is_open and not self._may_probe(first=waiting is self._first)

    def _next(self, now: float) -> Round[Member] | None:
        """Return the round whose next lane may send now, or None.

        At a paced gate the two rounds take turns, so that neither starves.
        """
        rounds = (self._first, self._others)
        if self._gate.phase is Phase.PACED and self._last is self._first:
            rounds = (self._others, self._first)
        return next((turn for turn in rounds if turn and self._free_at(turn, now) <= now), None)

    def _free_at(self, waiting: Round[Member], now: float) -> float:
        """Return when a lane of this round may send. A probe that was asked for ignores a hold."""
        gate, most = self._gate, self._context.limits.lane_in_flight
        if gate.phase is Phase.PACED and waiting is self._others:
            barred = self._on_trial()
            full = len(barred) >= TRIALS or gate.room(most) <= 1
            if full or not waiting.has_but(barred):
                return math.inf
        free_at = gate.free_at(now, most)
        return free_at if gate.extra_probe else max(gate.pace.held_until, free_at)

    def _on_trial(self) -> set[str]:
        """Return the applications whose lanes in doubt have a request in flight.

        Each has one at a time, and few applications at once. They leave room for one request: if
        theirs hang, a lane that goes first can still send.
        """
        trials = [lane for lane in self._trials if lane.in_flight and not lane.is_healthy]
        self._trials = dict.fromkeys(trials)
        return {lane.tenant for lane in trials}

    def _stop_timer(self) -> None:
        """Cancel the timer, if one is set."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- Probes that are brought forward --------------------------------------------------------

    def _bring_forward(self) -> None:
        """Let a lane that goes first send at once, in place of the next probe.

        Until the time of that probe the next lanes have to wait.
        """
        now = self._context.now()
        if now >= self._patient_until:
            self._patient_until = max(self._gate.pace.probe_at, now + EARLY_PROBE_INTERVAL)
            self._early += self._gate.allow_extra_probe(now)

    def probe_again(self, now: float) -> None:
        """Let a lane send at once, in place of the next probe: the last one was inconclusive."""
        self._early += self._gate.bring_probe_forward(now)

    def make_up(self) -> None:
        """Delay the next probe by as much as earlier ones were brought forward.

        So bringing probes forward adds none. An extra probe that was not sent yet is not delayed.
        """
        if self._gate.extra_probe:
            return
        self._gate.delay(self._early)
        self._early = 0.0

    def overtaken(self) -> None:
        """Forget by how much a probe was brought forward: another worker sent it."""
        self._early = 0.0

    def phase_changed(self) -> None:
        """Forget by how much probes were brought forward: the gate is in another phase."""
        self._early = self._patient_until = 0.0
