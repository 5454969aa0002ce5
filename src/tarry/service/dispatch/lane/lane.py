"""A lane at work: one endpoint's deliveries, sent as fast as all that protects it allows.

Nothing here waits: a lane is told of rows, of answers and of settlements, and each time sends what
it may. Why a delivery waits is told by `service/explain.py`, from what is stored.
"""

import logging
import math

from tarry.core.outcome import Kind
from tarry.core.pace import Phase
from tarry.service.dispatch.lane.answers import LaneAnswers
from tarry.service.dispatch.lane.pending_attempt import PendingAttempt, settlement
from tarry.service.dispatch.limits import retry_budget as budget
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.outcomes.judge import Judgement, Verdict
from tarry.service.dispatch.outcomes.ruling import Ruling
from tarry.service.failpoints import hit
from tarry.service.model import ids
from tarry.service.model.attempt import Resent
from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Due, Stream
from tarry.service.wire.exchange import Answer, Request

log = logging.getLogger("tarry.service")

BURST = 32
"""How many go at once before it is another lane's turn."""
AT_HAND = 64
"""How many rows are fetched together for one lane: enough to be busy until the next come."""
SLOW = 0.1
"""From how many seconds on an answer takes so long that sends are spread out over that time."""
PATIENCE = 0.1
"""How long to wait for what is in the air before the store is to tell of new deliveries."""


class Lane(LaneAnswers):
    """One endpoint's lane, owned by this process for as long as its shard is."""

    __slots__ = ()

    def leave(self) -> None:
        """It is somebody else's now, or at rest; what is on its way still is of no consequence."""
        self.left = True
        self.context.alarms.set(self, math.inf)
        self.buffer.changed()
        self.context.forget(self)
        self.group.leave(self)
        self.apart = False
        self.tenant_rate.leave(self)

    def start_over(self) -> None:
        """Forget what was read, and read everything again."""
        self.dozing = False
        self.buffer.changed()
        self.pump()

    def may_leave(self, now: float) -> bool:
        """Whether nothing is left to do or to remember: no limit was just used, no pace is kept."""
        free_at = max(self.rate.free_at(now), self.hold_until)
        done = self.quiet and not self.hungry and self.buffer.drained()
        if done and free_at > now:
            self.context.alarms.set(self, free_at)
        return done and free_at <= now and self.gate.phase is not Phase.PACED

    # --- Sending --------------------------------------------------------------------------------

    def pump(self, *, turn: bool = False) -> None:
        """Send what may be sent now; see to it that the rest is looked at when it may."""
        if not self.at_work:
            return
        if self.gate_now.phase is Phase.PACED:  # before more is looked for than was read
            self.buffer.turn_back(Phase.PACED)
        shared = self.gate_now is not self.gate
        if shared and not turn:
            if self._has_rows(self.context.now()):
                self.origin.queue(self)
            return
        now = self.context.now()
        for _ in range(1 if shared else BURST):
            if not self._send_one(now):
                return
        self.context.later(0.0, self.pump)

    def _send_one(self, now: float) -> bool:
        """Send one; False if there is nothing to send or it may not be sent yet."""
        free_at = self.free_at(now)
        if free_at > now:
            self.context.alarms.set(self, free_at)
            return False
        context = self.context
        if not self._has_rows(now) or self._stopped(now):
            return False
        if not self.tenant_rate.admits(self, now) or not context.slots.take(self):
            return False
        due = self.buffer.next(now, self.gate_now.phase)
        if due is None:
            context.slots.give_back(self)
            self._look_ahead(now)
            return False
        return self._send(due, now)

    def _stopped(self, now: float) -> bool:
        """Whether nothing may be sent at all; whoever sees to it that it may will pump again."""
        if self.context.unsettled >= self.context.limits.unsettled:
            self.context.stopped[self] = None
            return True
        if now >= self.held.until:
            self.held.overslept = True
            return True
        return False

    def free_at(self, now: float) -> float:
        """When the lane may send next, whatever waits; infinity: when an answer has come."""
        gate = self.gate_now
        most = min(self.most, self.trust) if gate.phase is Phase.CLOSED else self.most
        if self.in_flight >= most or (self.endpoint.fifo and self.unsettled):
            return math.inf
        together = most if gate is self.gate else self.context.limits.lane_in_flight
        free_at = max(
            gate.free_at(now, together),
            self.rate.free_at(now),
            self.hold_until,
        )
        if self._took > SLOW and gate.phase is Phase.CLOSED:
            # Else all that went together would come back together, and hold up everybody else's.
            free_at = max(free_at, self._sent_at + self._took / (2 * most))
        if gate.phase is Phase.CLOSED and self.failing >= RULE.failures:
            # About to open: what is sent until then is most likely lost.
            free_at = max(free_at, self._failed_at + RULE.tick)
        return max(free_at, self._fifo_from) if self.endpoint.fifo else free_at

    def _has_rows(self, now: float) -> bool:
        """Whether there is something at hand; more is asked for before it runs out."""
        at_hand = self.buffer.at_hand(now)
        if not self.hungry and self._runs_low(at_hand) and self.wants(now):
            self.hungry = True
            self.context.feed(self)
        if at_hand or self.buffer.next_in(now, self.gate_now.phase):
            return True
        if not self.hungry:
            self._look_ahead(now)
        return False

    def _runs_low(self, at_hand: int) -> bool:
        """Whether it is time to ask for more; asked in vain, it would ask again at once."""
        enough = self.room() // 2
        few = at_hand <= enough
        if self.gate_now.phase is Phase.PACED:
            few = few or self.buffer.new_run_low(enough // 2)
        return few and not (at_hand and self.context.is_full())

    def wants(self, now: float) -> bool:
        """Whether there may be more rows to read."""
        return bool(self.buffer.wants(self.room(), now, self.gate_now.phase))

    def room(self) -> int:
        """How many rows it makes sense to have at hand."""
        gate = self.gate_now
        if gate.phase is Phase.OPEN:
            return 1  # a probe: there may be thousands of lanes that wait for the time of theirs
        if gate.phase is Phase.PACED:
            return max(8, min(self.most, int(gate.pace.rate / 4)))
        slots = self.context.slots.room(self)
        if not slots:
            return 1  # it may be long until its turn, and thousands wait with it
        most = min(self.most, 2 * self.trust)
        return max(2, min(most - self.in_flight, slots, AT_HAND))

    def _look_ahead(self, now: float) -> None:
        """Nothing is at hand: come back when something is due, or rest."""
        if self.buffer.turn_back(self.gate_now.phase) or self.wants(now):
            self.hungry = True
            self.context.feed(self)
            return
        at = self.buffer.next_at()
        look_at = math.inf if at is None else max(at, now + RULE.tick)
        patient_until = self._sent_at + PATIENCE if self.in_flight else -math.inf
        if not self.buffer.ready_read():
            pass  # the head of an ordered lane holds up rows that are at hand: it has read enough
        elif self.buffer.drained() or (not self.dozing and now >= patient_until):
            self.context.let_rest(self)
        elif not self.dozing:
            look_at = min(look_at, patient_until)
        self.context.alarms.set(self, look_at)

    def woken(self) -> None:
        """It is time to look."""
        self.pump()

    def _send(self, due: Due, now: float) -> bool:
        if due.payload is None:
            self.context.slots.give_back(self)
            self._expunged(due, now)
            return True
        retry = due.stream is Stream.WAITING and due.attempts > 0
        if retry and self.gate_now.phase is Phase.CLOSED and not self._budget.spend(now):
            self.context.slots.give_back(self)
            self.buffer.put_off(due, now + budget.PAUSE)
            return True
        self._budget.sent()
        self._depart(due, due.payload, now)
        return True

    def _expunged(self, due: Due, now: float) -> None:
        """There is nothing left to send."""
        if not due.resend:
            ruling = Ruling(State.FAILED, Reason.EXPUNGED, due.attempts)
            outcome = settlement(due, ruling, None, epoch=self.epoch, now=now)
            self.context.finish(self, due, outcome)
            return
        flight = PendingAttempt(self, due, self.gate, 0, now, self.config, self.endpoint.url)
        answer = Answer(0.0, failure=Kind.REFUSED, detail=Reason.EXPUNGED)
        judgement = Judgement(Verdict.UNFIT, Kind.REFUSED)
        attempt = self.context.id(ids.ATTEMPT, now)
        made = flight.attempt(answer, judgement, None, id=attempt, now=now, draw=0.0)
        resent = Resent(self.number, due.resend, made, self.epoch, Reason.EXPUNGED)
        self.context.finish(self, due, resent)

    def _depart(self, due: Due, payload: bytes, now: float) -> None:
        gate, config, context = self.gate_now, self.config, self.context
        context.sent += 1
        probe = gate.phase is Phase.OPEN
        context.probes += probe
        # How much waits matters to probes alone, and takes time to count in a large origin.
        whole = self if gate is self.gate else self.origin
        epoch = gate.sent(now, max(1, whole.waiting()) if probe else 1)
        self.in_flight += 1
        self._sent_at = now
        self.rate.sent(now)
        self.tenant_rate.sent(now)
        flight = PendingAttempt(self, due, gate, epoch, now, config, self.endpoint.url)
        if config.target is None:
            context.later(0.0, lambda: flight.done(config.refused))
            return
        try:
            wall = context.wall()  # receivers refuse what was signed long ago, by their clocks
            headers = config.signer.headers(due.message, due.tries + 1, payload, now=wall)
        except Exception as error:
            log.exception("message %r cannot be signed", due.message)
            unsigned = Answer(0.0, failure=Kind.REFUSED, detail=f"it cannot be signed: {error}")
            context.later(0.0, lambda: flight.done(unsigned))
            return
        target = config.target
        if due.content_type is not None:
            target = target.sending(due.content_type)
        connect = context.limits.connect_timeout
        request = Request(target, headers, payload, config.timeout, connect)
        hit("send.before")
        context.sender.send(request, flight.done)
        hit("send.begun")
