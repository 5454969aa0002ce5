"""A lane moves with the gate it goes by: its own, or its origin's while all of that is in trouble.

A gate that turns has the lane read its rows anew, gives attempts back that failed with the lane, or
lets the backlog go at a pace.
"""

import logging
from typing import TYPE_CHECKING

from tarry.core.pace import Phase
from tarry.service.dispatch.lane.pending_attempt import settlement
from tarry.service.dispatch.lane.state import LaneState
from tarry.service.dispatch.limits.spacing import LONG_AGO
from tarry.service.dispatch.outcomes.ruling import Ruling
from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Due, Stream

if TYPE_CHECKING:
    from tarry.service.dispatch.origins.origin import Origin

log = logging.getLogger("tarry.service")


class LanePhases(LaneState):
    """The part of a lane that follows its gate."""

    __slots__ = ()

    def tick(self, now: float) -> bool:
        """Look at the answers; whether to look again soon."""
        if self.gate_now is self.gate:
            paced = self.gate.phase is Phase.PACED
            if self.gate.step(now, self.pressing() if paced else self.waiting()):
                self._own_turned(now)
            elif self.gate.phase is Phase.OPEN:
                self.save(now)  # a probe failed: who asks is told when the next one goes
        self.pump()
        return self.gate.ticks(now)

    def _own_turned(self, now: float, *, blame: bool = True) -> None:
        """Its own gate is in another phase: that is said, and written down."""
        log.info("the lane of %s is %s; %d wait", self.endpoint.id, self.gate.phase, self.waiting())
        if self.apart and self.gate.phase is Phase.PACED:  # taken again, it goes with the others
            self.apart = False
            self.gate.close()
        self.save(now)
        self.turned(self.gate_now.phase, now, blame=blame)
        if self.gate.phase is Phase.PACED:
            self.context.tick(self)

    def turned(self, phase: Phase, now: float, *, blame: bool = True) -> None:
        """The gate it goes by is in another phase, maybe because the endpoint failed."""
        if phase is Phase.CLOSED:
            self.doubts.settled_down()
        elif blame:
            self.doubts.blame_the_lane()
            self._refund(now)
        if phase is Phase.OPEN:
            self.buffer.changed()  # read again when they can be sent: it may take days
            self.came_back = True  # what comes from now on must not wait for all of them
        if phase is Phase.PACED:
            self.doubts.refusals = min(self.doubts.refusals, 1)
            self.came_back = self.hungry = True
            self.context.feed(self)
        self.pump()

    def change_group(self, group: "Origin") -> None:
        """Belong to another origin from now on."""
        self.group.leave(self)
        self.apart = False
        self.group, self.origin = group, group.in_charge
        group.join(self)

    def go_by(self, origin: "Origin") -> None:
        """Go by another level of its origin while that is shared."""
        self.origin = origin

    def shared(self, now: float) -> None:
        """Its origin is in trouble: it leaves the pace to that."""
        self.join(now)
        self.turned(self.origin.gate.phase, now)

    def origin_turned(self, phase: Phase, now: float) -> None:
        """The gate of its origin is in another phase; if it is apart, only trouble is news."""
        if not self.apart:
            self.turned(phase, now)
        elif phase is Phase.OPEN:
            self.shared(now)
        else:
            self.apart = False

    def alone(self, now: float, capacity: float | None = None, since: float | None = None) -> None:
        """Its troubles are its own: it is open, and its origin is not."""
        self.gate.open(now, max(1, self.waiting()), capacity, since)
        self._own_turned(now)

    def probe(self, now: float) -> None:
        """Somebody asks whether it is back: try at once, with what waits first.

        A few failures are not enough to open it, and each delivery would wait for its own time.
        """
        unknown = self.failing or self._sent_at == LONG_AGO
        if self.gate_now.phase is Phase.CLOSED and unknown and self.waiting():
            self.alone(now)
        self.gate_now.hurry(now)

    def released(self, now: float) -> None:
        """Its origin leaves the pace to it again, although something may wait still."""
        if self.apart:
            self.apart = False
            return
        self.replay(now)
        if self.gate.phase is Phase.CLOSED:
            self.turned(Phase.CLOSED, now)

    def replay(self, now: float) -> None:
        """Much waits at once: it goes at a pace, and fresh messages before it."""
        alone = self.gate_now is self.gate
        if self.gate.phase is Phase.CLOSED and alone and self.waiting() > 1:
            self.gate.ramp(now)
            self._own_turned(now, blame=False)

    def _refund(self, now: float) -> None:
        """What opened the lane was the lane's failure: it costs the deliveries nothing."""
        for seq, attempts, tries, message in self.doubts.refundable(self.buffer.busy):
            due = Due(
                lane=self.number,
                seq=seq,
                stream=Stream.READY,
                message=message,
                event_type="",
                payload=None,
                accepted_at=now,
                tries=tries,
            )
            ruling = Ruling(State.READY, Reason.LANE_OPEN, attempts, counted=False)
            self.buffer.is_busy(seq)
            self.buffer.rewind()  # it may be at hand as it was
            outcome = settlement(due, ruling, None, epoch=self.epoch, now=now)
            self.context.finish(self, due, outcome)
