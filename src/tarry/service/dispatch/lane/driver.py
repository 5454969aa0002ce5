"""What makes lanes move, put together: sending, answers and phases."""

from tarry.core.pace import Phase
from tarry.service.dispatch.lane import answers, phases, sending
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.lane.pending_attempt import PendingAttempt
from tarry.service.wire.exchange import Answer


class LaneDriver:
    """Moves all lanes of a dispatcher. It has no state: that is the lanes'."""

    def pump(self, lane: Lane, *, turn: bool) -> None:
        """Send what a lane may send now."""
        sending.pump(lane, turn=turn)

    def answered(self, lane: Lane, pending: PendingAttempt, answer: Answer) -> None:
        """Take in the answer to an attempt."""
        answers.take_answer(lane, pending, answer)

    def tick(self, lane: Lane, now: float) -> bool:
        """Look at the answers; return whether to look again soon."""
        return phases.tick(lane, now)

    def shared(self, lane: Lane, now: float) -> None:
        """Take in that the lane's origin is in trouble."""
        phases.shared(lane, now)

    def origin_turned(self, lane: Lane, phase: Phase, now: float) -> None:
        """Take in that the gate of the lane's origin is in another phase."""
        phases.origin_turned(lane, phase, now)

    def alone(self, lane: Lane, now: float, capacity: float | None, since: float | None) -> None:
        """Open the lane's own gate."""
        phases.alone(lane, now, capacity, since)

    def released(self, lane: Lane, now: float) -> None:
        """Take in that the lane's origin leaves the pace to it again."""
        phases.released(lane, now)
