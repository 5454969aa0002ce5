"""What comes back to a lane: answers, and word that they were written down.

An answer is judged, told to the gate, the origin and the endpoint's record, ruled on and handed in
to be settled.
"""

from msgspec.structs import replace

from tarry.core.pace import Phase
from tarry.service.dispatch.lane.pending_attempt import PendingAttempt, settlement
from tarry.service.dispatch.lane.phases import LanePhases
from tarry.service.dispatch.limits.gate import RULE, Gate
from tarry.service.dispatch.outcomes.judge import Judgement, Verdict, judge
from tarry.service.dispatch.outcomes.ruling import SPREAD, Lay, Ruling, rule, rule_resent
from tarry.service.failpoints import hit
from tarry.service.model import ids
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import ENDED, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Due, Stream
from tarry.service.wire.exchange import Answer

WEIGHT = 0.1
"""How much of what is known of an endpoint's latency is the last answer's."""


class LaneAnswers(LanePhases):
    """The part of a lane that takes in what became of its attempts."""

    __slots__ = ()

    # --- Answers --------------------------------------------------------------------------------

    def answered(self, flight: PendingAttempt, answer: Answer) -> None:
        """An attempt ended."""
        hit("send.answered")
        context, due = self.context, flight.due
        now = context.now()
        judgement = judge(answer, flight.config.policy, now=now)
        context.slots.give_back(self)
        self.in_flight -= 1
        attempt = context.id(ids.ATTEMPT, now)
        self._report(flight, judgement, now)
        if due.resend:
            made = flight.attempt(answer, judgement, None, id=attempt, now=now, draw=0.0)
            why = rule_resent(judgement)
            context.finish(self, due, Resent(self.number, due.resend, made, self.epoch, why))
        else:
            draw = context.draw()
            ruling = self._ruled(flight, judgement, now, draw)
            made = flight.attempt(answer, judgement, ruling, id=attempt, now=now, draw=draw)
            outcome = settlement(due, ruling, made, epoch=self.epoch, now=now)
            context.finish(self, self._kept(due, ruling), outcome)
        context.slots.serve()
        self.pump()

    def _kept(self, due: Due, ruling: Ruling) -> Due:
        """What is kept of it until that is written down: its payload only if it goes from here."""
        again = ruling.moment is not None or (self.buffer.fifo and ruling.state not in ENDED)
        return due if again else replace(due, payload=None)

    def _ruled(
        self, flight: PendingAttempt, judgement: Judgement, now: float, draw: float
    ) -> Ruling:
        """What becomes of the delivery, kept in mind as far as it is in doubt."""
        doubts, phase = self.doubts, self.gate_now.phase
        if judgement.private and flight.url != self.endpoint.url:
            # The old place does not want it any more; where the endpoint is by now was not asked.
            judgement = replace(judgement, verdict=Verdict.FAILED)
        due = doubts.refunded(flight.due)
        ruling = rule(
            due,
            judgement,
            Lay(phase, self._proven(due, judgement, now), doubts.moments(due)),
            flight.config.policy,
            started_at=now - self.endpoint.age(due.accepted_at, self.context.earlier_now()),
            now=now,
            draw=lambda: draw,
        )
        doubts.remember(due, ruling)
        return ruling

    def _proven(self, due: Due, judgement: Judgement, now: float) -> bool:
        """Whether the endpoint is known to take others since it would not take this one."""
        match judgement.verdict:
            case Verdict.REFUSED:
                return self.doubts.proven(due, accepted_at=self.record.accepted_at, now=now)
            case Verdict.FAILED:
                doubts, accepted_at = self.doubts, self.record.accepted_at
                if doubts.mostly_own and doubts.again(due, accepted_at=accepted_at, now=now):
                    return True
                return doubts.own(due, accepted_at=accepted_at, now=now)
            case _:
                return False

    # --- What an answer says about the endpoint -------------------------------------------------

    def _report(self, flight: PendingAttempt, judgement: Judgement, now: float) -> None:
        """Tell the gate, the origin and the endpoint's record about an answer."""
        self._took += WEIGHT * (now - flight.sent_at - self._took)
        verdict, gate = judgement.verdict, flight.gate
        if flight.url != self.endpoint.url:  # it says nothing about where the endpoint is by now
            gate.lost()
            self.group.serve_all()
            return
        if not judgement.unreachable:
            self.group.reached()
        if verdict is Verdict.GONE:
            self._is_gone(gate, judgement, now)
            return
        failures = self._speaks(flight, judgement, now)
        self._put_down(flight, judgement, failures, now)
        if verdict is Verdict.HELD:
            self._hold(judgement.asked, now)
        if gate is not self.gate_now and gate is not self.origin.gate:
            gate.lost()  # the lane goes by another gate since
            self.group.serve_all()
            return
        spared = gate is not self.gate and self.origin.spares(self)
        gate.answered(
            passed=judgement.alive,
            failures=0 if spared else failures or 0,
            epoch=flight.epoch,
            took=now - flight.sent_at,
            asked=judgement.asked if gate is self.gate or self.origin is self.group else None,
            now=now,
        )
        if gate is self.gate:
            if judgement.alive or failures:
                self._tell(judgement, now)
        elif failures is None:
            self.origin.serve()
        else:
            self.origin.answered(self, judgement, now)
            self._goes_alone(judgement, now)

    def _is_gone(self, gate: Gate, judgement: Judgement, now: float) -> None:
        """The endpoint wants nothing any more."""
        gate.lost()
        self._stand(Standing.DISABLED, "the receiver said so", now)
        if gate is self.origin.gate:  # the others wait for this answer
            self.origin.refused(self)
            self.origin.answered(self, judgement, now)
        elif gate is not self.gate:
            self.group.serve_all()

    def _put_down(
        self, flight: PendingAttempt, judgement: Judgement, failures: int | None, now: float
    ) -> None:
        """Remember how the endpoint does, by all but a delivery's own failures."""
        if judgement.verdict is Verdict.TAKEN:
            self._change(self.record.taken(self.gate.pace, now))
        if judgement.alive:
            self.doubts.taken(flight.due)
            self.failing = 0
            self.trust = min(self.trust + 1, self.most)
        elif failures is not None:
            self.failing, self._failed_at = self.failing + 1, now
            if self.failing > 1:
                self.trust = max(1, self.trust // 2)
            self.record.failed(now)
            self.look_after(now)

    def _speaks(self, flight: PendingAttempt, judgement: Judgement, now: float) -> int | None:
        """For how many failures an answer speaks; None if it says nothing of the endpoint.

        One page missing is no outage, all pages are.
        """
        if judgement.alive:
            return 0
        doubts, due, accepted_at = self.doubts, flight.due, self.record.accepted_at
        own, spoken = False, 1
        if judgement.verdict is Verdict.FAILED:
            doubts.failed(due, now=now)
            own = doubts.own(due, accepted_at=accepted_at, now=now)
            if not own and doubts.again(due, accepted_at=accepted_at, now=now):
                own = True
                doubts.failed_again()
            elif not own and flight.gate.phase is Phase.PACED and doubts.spares():
                spoken = 0
        elif judgement.verdict is Verdict.REFUSED:
            own = doubts.usual(due, accepted_at=accepted_at, now=now)
            spoken = self._refused(flight) if flight.gate.phase is Phase.OPEN or not own else 0
        if own and flight.gate.phase is not Phase.OPEN:
            return None
        in_a_row = self.failing + 1 == RULE.failures and doubts.refusals > 0
        closed = flight.gate is self.gate and flight.gate.phase is Phase.CLOSED
        return RULE.failures if in_a_row and closed else spoken

    def _refused(self, flight: PendingAttempt) -> int:
        """For how many failures a refusal speaks: single ones for none, and later for one."""
        self.doubts.refusals += 1
        if flight.gate is not self.gate:
            if flight.gate is self.origin.gate:
                self.origin.refused(self)
            return 0  # what it means, others' answers have to tell
        return int(flight.gate.phase is not Phase.CLOSED or self.failing >= RULE.failures)

    def _tell(self, judgement: Judgement, now: float) -> None:
        """An answer came to the lane's own gate."""
        if not self.origin.shared:
            seen = judgement.unreachable
            self.origin.saw(self, passed=judgement.alive, unreachable=seen, now=now)
        if self.gate.phase is Phase.OPEN or self.failing == RULE.failures:
            self.tick(now)  # what becomes of this one depends on it
        if self.gate.phase is not Phase.OPEN and not judgement.alive:
            self.context.tick(self)

    def _goes_alone(self, judgement: Judgement, now: float) -> None:
        """Leave the others of its origin to their pace if it alone is refused, and always is."""
        if judgement.verdict is not Verdict.REFUSED or self.gate_now is self.gate:
            return
        alone = self.origin.gate.phase is Phase.PACED and not self.origin.refuses(self)
        if alone and self.doubts.refusals >= RULE.failures:
            self.apart = True
            self.alone(now)

    def _hold(self, asked: float | None, now: float) -> None:
        """It was too many: send nothing for as long as was asked for, and then at a pace."""
        if asked is not None:
            until = now + asked * (1 + SPREAD * self.context.draw())
            self.group.held(self, until, now)
            if until > self.hold_until:
                self.gate.hold(until)
                self.save(now)  # whoever owns the lane next has to wait as well
        self.replay(now)

    # --- Settlements ----------------------------------------------------------------------------

    def settled(self, due: Due, made: Settlement | Resent, *, done: bool) -> None:
        """A settlement was written down, or was not because something else had happened."""
        self.unsettled -= 1
        self.context.stale += not done
        if self.left:
            return
        if isinstance(made, Resent):
            self.buffer.done(due)
            self.context.look_again([self.number])  # there may be a delivery of it only now
        elif not done:
            self.context.doubt()
            self.buffer.behind(due.seq)
        elif made.state in ENDED:
            self._over(due, made)
        else:
            self._goes_on(due, made)
        if not self.dozing and (self.in_flight or self.gate_now.phase is Phase.OPEN):
            self.buffer.read_on()
        now = self.context.now()
        if done and not isinstance(made, Resent):
            self._change(self.record.of_delivery(self.endpoint, due.message, made, now))
        self._refund(now)

    def _over(self, due: Due, made: Settlement) -> None:
        """One that ended; in an ordered lane a failure may stop all others."""
        self.ended += 1
        self.context.delivered += made.state is State.DELIVERED
        self.buffer.done(due)
        if made.state is State.FAILED:
            self.context.failed += 1
            if self.failing:  # the lane may be at rest in a moment: the next failure is one more
                self.save(self.context.now())
            if self.endpoint.fifo and self.endpoint.blocking:
                why = f"its first delivery failed: {made.reason}"
                self._stand(Standing.PAUSED, why, self.context.now())

    def _goes_on(self, due: Due, made: Settlement) -> None:
        """One that is sent again: from memory, or when it is found in the store."""
        buffer, at = self.buffer, made.due_at
        if not buffer.fifo and made.state is State.WAITING and at is not None:
            buffer.done(due)
            buffer.due_at(at)
            return
        moment = self.doubts.moment(due)
        if due.payload is None or not (buffer.fifo or moment is not None):
            buffer.behind(due.seq)
            return
        tried = made.attempt is not None
        row = replace(
            due,
            tries=due.tries + tried,
            attempts=made.attempts,
            memory=made.memory,
            due_at=at,
            stream=Stream.READY,
        )
        buffer.later(row, self.context.now() + (moment or 0.0) if at is None else at)
