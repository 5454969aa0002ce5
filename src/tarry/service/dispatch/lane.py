"""A lane at work: one endpoint's deliveries, sent as fast as all that protects it allows.

Nothing here waits: a lane is told of rows, of answers and of settlements, and each time sends what
it may. What it may not send yet has a reason, which `why` names.
"""

import logging
import math
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tarry.core.outcome import Kind
from tarry.core.pace import Pace, Phase
from tarry.service.dispatch import budget, pace_text
from tarry.service.dispatch.desk import Desk, Held, Timer
from tarry.service.dispatch.doubts import Doubts
from tarry.service.dispatch.flight import Flight, settlement
from tarry.service.dispatch.gate import RULE, Gate
from tarry.service.dispatch.judge import Judgement, Verdict, judge
from tarry.service.dispatch.outfit import Outfit
from tarry.service.dispatch.record import Record, stands
from tarry.service.dispatch.settle import Lay, Ruling, rule
from tarry.service.dispatch.spacing import Spacing
from tarry.service.dispatch.streams import Streams
from tarry.service.dispatch.turns import Turns
from tarry.service.failpoints import hit
from tarry.service.model import ids
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import ENDED, Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Due, LaneRow, Stream
from tarry.service.wire.exchange import Answer, Request

if TYPE_CHECKING:
    from tarry.service.dispatch.origin import Origin

log = logging.getLogger("tarry.service")

BURST = 32
"""How many go at once before it is another lane's turn."""
TRUST = 8
"""How many may be in the air at first; each that is taken makes it one more, up to the limit, and
each failure after another one halves it."""
AT_HAND = 64
"""How many rows are fetched together for one lane: enough to be busy until the next come."""
PATIENCE = 0.1
"""How long to wait for what is in the air before the store is to tell of new deliveries."""
TOLD = frozenset({Reason.EXHAUSTED, Reason.AGED})
"""The endings that an endpoint's owner is told of one by one."""


class Lane:
    """One endpoint's lane, owned by this process for as long as its shard is."""

    def __init__(  # noqa: PLR0913  what a lane stands between
        self,
        row: LaneRow,
        outfit: Outfit,
        *,
        desk: Desk,
        held: Held,
        origin: "Origin",
        tenant_rate: Turns,
    ) -> None:
        now = desk.now()
        self.desk, self.held, self.origin, self.tenant_rate = desk, held, origin, tenant_rate
        self.number, self.tenant = row.lane, row.application.id
        self.added, self.ended = row.added, row.ended
        self.in_flight = self.unsettled = 0
        self.trust = TRUST
        self.failing, self._failed_at = 0, -math.inf
        self.record = Record(row, desk.parking, desk.notice, now)
        moved = self.record.moved(outfit.origin)
        pace = Pace() if moved else pace_text.read(row.known.pace, now=now)
        self.gate = Gate(pace, desk.draw)
        self.streams = Streams(row.lane, desk.buffered, fifo=row.endpoint.fifo)
        self.doubts = Doubts()
        self.hold_until = 0.0
        self.came_back = self.gate.phase is Phase.PACED
        self.hungry = self.left = self.dozing = False
        self._budget = budget.Budget()
        self._sent_at = -math.inf
        self._timer: Timer | None = None
        # An owner that was lost may have left an attempt on its way.
        self._fifo_from = -math.inf if held.lease.clean else now + outfit.timeout
        self.rate = Spacing()
        self.dress(row.endpoint, outfit)
        if self.gate.phase is Phase.CLOSED and row.known.failures >= RULE.failures and not moved:
            self.gate.open(now, max(1, self.waiting()))
        if self.gate.phase is Phase.PACED:
            desk.tick(self)

    def dress(self, endpoint: Endpoint, outfit: Outfit) -> None:
        """Take up an endpoint's settings, at first or after a change."""
        self.endpoint, self.outfit = endpoint, outfit
        self.rate.limit(endpoint.rate)
        ceiling = self.desk.limits.lane_in_flight
        self.most = 1 if endpoint.fifo else min(endpoint.concurrency or ceiling, ceiling)
        self.streams.fifo = endpoint.fifo
        if self.record.moved(outfit.origin):
            self.gate.close(forget=True)

    def waiting(self) -> int:
        """How many deliveries wait, those in the air left out."""
        return max(0, self.added - self.ended - self.in_flight)

    @property
    def gate_now(self) -> Gate:
        """The gate it goes by: its own, or its origin's while that is in trouble."""
        shared = self.origin.gate
        return self.gate if shared.phase is Phase.CLOSED else shared

    @property
    def at_work(self) -> bool:
        """Whether anything may be sent at all."""
        if self.left or self.held.leaving:
            return False
        return self.endpoint.standing is Standing.ENABLED

    @property
    def quiet(self) -> bool:
        """Whether nothing of it is on its way, or waits to be written down."""
        return not self.in_flight and not self.unsettled

    def leave(self) -> None:
        """It is somebody else's now, or at rest; what is on its way still is of no consequence."""
        self.left = True
        self._look_at(math.inf)
        self.streams.changed()
        self.desk.forget(self)
        self.origin.leave(self)
        self.tenant_rate.leave(self)

    def may_leave(self, now: float) -> bool:
        """Whether nothing is left to do or to remember: no limit was just used, no pace is kept."""
        free_at = max(self.rate.free_at(now), self.hold_until)
        done = self.quiet and not self.hungry and self.streams.drained()
        if done and free_at > now:
            self._look_at(free_at)
        return done and free_at <= now and self.gate.phase is not Phase.PACED

    # --- Sending --------------------------------------------------------------------------------

    def pump(self, *, turn: bool = False) -> None:
        """Send what may be sent now; see to it that the rest is looked at when it may."""
        if not self.at_work:
            return
        shared = self.origin.shared
        if shared and not turn:
            if self._has_rows(self.desk.now()):
                self.origin.queue(self)
            return
        now = self.desk.now()
        for _ in range(1 if shared else BURST):
            if not self._send_one(now):
                return
        self.desk.later(0.0, self.pump)

    def _send_one(self, now: float) -> bool:
        """Send one; False if there is nothing to send or it may not be sent yet."""
        free_at = self.free_at(now)
        if free_at > now:
            self._look_at(free_at)
            return False
        desk = self.desk
        if not self._has_rows(now) or self._stopped(now):
            return False
        if not self.tenant_rate.admits(self, now) or not desk.slots.take(self):
            return False
        due = self.streams.next(now, self.gate_now.phase)
        if due is None:
            desk.slots.give_back(self)
            self._look_ahead(now)
            return False
        return self._send(due, now)

    def _stopped(self, now: float) -> bool:
        """Whether nothing may be sent at all; whoever sees to it that it may will pump again."""
        if self.desk.unsettled >= self.desk.limits.unsettled:
            self.desk.stopped[self] = None
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
        free_at = max(
            gate.free_at(now, most),
            self.rate.free_at(now),
            self.hold_until,
        )
        if gate.phase is Phase.CLOSED and self.failing >= RULE.failures:
            # About to open: what is sent until then is most likely lost.
            free_at = max(free_at, self._failed_at + RULE.tick)
        return max(free_at, self._fifo_from) if self.endpoint.fifo else free_at

    def _has_rows(self, now: float) -> bool:
        """Whether there is something at hand; more is asked for before it runs out."""
        at_hand = self.streams.at_hand(now)
        if not self.hungry and at_hand <= self.room() // 2 and self.wants(now):
            self.hungry = True
            self.desk.feed(self)
        if at_hand or self.streams.next_in(now, self.gate_now.phase):
            return True
        if not self.hungry:
            self._look_ahead(now)
        return False

    def wants(self, now: float) -> bool:
        """Whether there may be more rows to read."""
        return bool(self.streams.wants(self.room(), now, self.gate_now.phase))

    def room(self) -> int:
        """How many rows it makes sense to have at hand."""
        gate = self.gate_now
        if gate.phase is Phase.OPEN:
            return 2
        if gate.phase is Phase.PACED:
            return max(8, min(self.most, int(gate.pace.rate / 4)))
        return max(2, min(self.most - self.in_flight, self.desk.slots.room(self), AT_HAND))

    def _look_ahead(self, now: float) -> None:
        """Nothing is at hand: come back when something is due, or rest."""
        if self.streams.turn_back() or self.wants(now):
            self.hungry = True
            self.desk.feed(self)
            return
        at = self.streams.next_at()
        look_at = math.inf if at is None else max(at, now + RULE.tick)
        patient_until = self._sent_at + PATIENCE if self.in_flight else -math.inf
        if self.streams.drained() or (not self.dozing and now >= patient_until):
            self.desk.let_rest(self)
        elif not self.dozing:
            look_at = min(look_at, patient_until)
        self._look_at(look_at)

    def _look_at(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if at < math.inf:
            self._timer = self.desk.later(max(0.0, at - self.desk.now()), self._woken)

    def _woken(self) -> None:
        self._timer = None
        self.pump()

    def _send(self, due: Due, now: float) -> bool:
        if due.payload is None:
            self.desk.slots.give_back(self)
            self._expunged(due, now)
            return True
        retry = due.stream is Stream.WAITING and due.attempts > 0
        if retry and self.gate_now.phase is Phase.CLOSED and not self._budget.spend(now):
            self.desk.slots.give_back(self)
            self.streams.put_off(due, now + budget.PAUSE)
            return True
        self._budget.sent()
        self._depart(due, due.payload, now)
        return True

    def _expunged(self, due: Due, now: float) -> None:
        """There is nothing left to send."""
        if not due.resend:
            ruling = Ruling(State.FAILED, Reason.EXPUNGED, due.attempts)
            self.desk.finish(self, due, settlement(due, ruling, None, now=now))
            return
        flight = Flight(self, due, self.gate, 0, now, self.outfit, self.endpoint.url)
        answer = Answer(0.0, failure=Kind.REFUSED, detail=Reason.EXPUNGED)
        judgement = Judgement(Verdict.UNFIT, Kind.REFUSED)
        attempt = self.desk.id(ids.ATTEMPT, now)
        made = flight.attempt(answer, judgement, None, id=attempt, now=now, draw=0.0)
        self.desk.finish(self, due, Resent(self.number, due.resend, made))

    def _depart(self, due: Due, payload: bytes, now: float) -> None:
        gate, outfit, desk = self.gate_now, self.outfit, self.desk
        waiting = self.waiting() if gate is self.gate else self.origin.waiting()
        desk.sent += 1
        desk.probes += gate.phase is Phase.OPEN
        epoch = gate.sent(now, max(1, waiting))
        self.in_flight += 1
        self._sent_at = now
        self.rate.sent(now)
        self.tenant_rate.sent(now)
        flight = Flight(self, due, gate, epoch, now, outfit, self.endpoint.url)
        if outfit.target is None or outfit.signer is None:
            desk.later(0.0, lambda: flight.done(outfit.refused))
            return
        try:
            headers = outfit.signer.headers(due.message, due.tries + 1, payload, now=now)
        except Exception as error:
            log.exception("message %r cannot be signed", due.message)
            unsigned = Answer(0.0, failure=Kind.REFUSED, detail=f"it cannot be signed: {error}")
            desk.later(0.0, lambda: flight.done(unsigned))
            return
        connect = desk.limits.connect_timeout
        request = Request(outfit.target, headers, payload, outfit.timeout, connect)
        hit("send.before")
        desk.sender.send(request, flight.done)
        hit("send.begun")

    # --- Answers --------------------------------------------------------------------------------

    def answered(self, flight: Flight, answer: Answer) -> None:
        """An attempt ended."""
        hit("send.answered")
        desk, due = self.desk, flight.due
        now = desk.now()
        judgement = judge(answer, flight.outfit.policy, now=now)
        desk.slots.give_back(self)
        self.in_flight -= 1
        attempt = desk.id(ids.ATTEMPT, now)
        self._report(flight, judgement, now)
        if due.resend:
            made = flight.attempt(answer, judgement, None, id=attempt, now=now, draw=0.0)
            desk.finish(self, due, Resent(self.number, due.resend, made))
        else:
            draw = desk.draw()
            ruling = self._ruled(flight, judgement, now, draw)
            made = flight.attempt(answer, judgement, ruling, id=attempt, now=now, draw=draw)
            desk.finish(self, due, settlement(due, ruling, made, now=now))
        desk.slots.serve()
        self.pump()

    def _ruled(self, flight: Flight, judgement: Judgement, now: float, draw: float) -> Ruling:
        doubts, phase = self.doubts, self.gate_now.phase
        due = doubts.refunded(flight.due)
        proven = judgement.verdict is Verdict.REFUSED and doubts.proven(
            due, accepted_at=self.record.accepted_at, now=now
        )
        ruling = rule(
            due,
            judgement,
            Lay(phase, proven, doubts.moments(due)),
            flight.outfit.policy,
            started_at=now - self.endpoint.age(due.accepted_at, now),
            now=now,
            draw=lambda: draw,
        )
        doubts.remember(due, ruling)
        return ruling

    def _report(self, flight: Flight, judgement: Judgement, now: float) -> None:
        """Tell the gate, the origin and the endpoint's record about an answer."""
        verdict, gate, passed = judgement.verdict, flight.gate, judgement.alive
        if verdict is Verdict.TAKEN:
            self._change(self.record.taken(self.gate.pace, now))
        if passed:
            self.doubts.taken(flight.due)
            self.failing = 0
            self.trust = min(self.trust + 1, self.most)
        elif verdict is Verdict.GONE:
            gate.lost()
            self._stand(Standing.DISABLED, "the receiver said so", now)
            return
        else:
            self.failing, self._failed_at = self.failing + 1, now
            if self.failing > 1:
                self.trust = max(1, self.trust // 2)
            self.record.failed(now)
            self.look_after(now)
        failures = self._speaks(flight, judgement, now)
        if verdict is Verdict.HELD and judgement.asked is not None:
            self._hold(judgement.asked, now)
        if gate is self.gate and self.origin.shared:
            gate.lost()  # it was closed when its origin opened
            return
        gate.answered(
            passed=passed,
            failures=failures,
            epoch=flight.epoch,
            took=now - flight.sent_at,
            asked=judgement.asked,
            now=now,
        )
        if gate is not self.gate:
            self.origin.answered(now)
        elif passed or failures:
            self._tell(judgement, now)

    def _speaks(self, flight: Flight, judgement: Judgement, now: float) -> int:
        """For how many failures an answer speaks: one page missing is no outage, all pages are."""
        if judgement.verdict is not Verdict.REFUSED:
            return int(not judgement.alive)
        phase, accepted_at = flight.gate.phase, self.record.accepted_at
        if phase is not Phase.OPEN and self.doubts.usual(
            flight.due, accepted_at=accepted_at, now=now
        ):
            return 0
        self.doubts.refusals += 1
        if phase is not Phase.CLOSED:
            return 1
        if self.doubts.refusals == RULE.failures:
            return RULE.failures
        return int(self.doubts.refusals > RULE.failures)

    def _tell(self, judgement: Judgement, now: float) -> None:
        """An answer came to the lane's own gate."""
        if not self.origin.shared:
            seen = judgement.unreachable
            self.origin.saw(self, passed=judgement.alive, unreachable=seen, now=now)
        if self.gate.phase is Phase.OPEN:
            self.tick(now)
        elif not judgement.alive:
            self.desk.tick(self)

    def _hold(self, asked: float, now: float) -> None:
        until = now + asked * (1 + 0.1 * self.desk.draw())
        self.hold_until = max(self.hold_until, until)
        self.origin.held(self, until, now)
        self.replay(now)

    # --- The gate moves -------------------------------------------------------------------------

    def tick(self, now: float) -> bool:
        """Look at the answers; whether to look again soon."""
        if not self.origin.shared and self.gate.step(now, self.waiting()):
            self._own_turned(now)
        self.pump()
        return self.gate.ticks(now)

    def _own_turned(self, now: float, *, blame: bool = True) -> None:
        self._change(self.record.saved(self.gate.pace, now))
        self.turned(self.gate.phase, now, blame=blame)
        if self.gate.phase is Phase.PACED:
            self.desk.tick(self)

    def turned(self, phase: Phase, now: float, *, blame: bool = True) -> None:
        """The gate it goes by is in another phase, maybe because the endpoint failed."""
        if phase is Phase.CLOSED:
            self.doubts.settled_down()
        elif blame:
            self.doubts.blame_the_lane()
            self._refund(now)
        if phase is Phase.PACED:
            self.came_back = self.hungry = True
            self.desk.feed(self)
        self.pump()

    def shared(self, now: float) -> None:
        """Its origin is in trouble: it leaves the pace to that."""
        self.gate.close()
        self.doubts.blame_the_lane()
        self._refund(now)
        self.pump()

    def replay(self, now: float) -> None:
        """Much waits at once: it goes at a pace, and fresh messages before it."""
        if self.gate.phase is Phase.CLOSED and not self.origin.shared and self.waiting() > 1:
            self.gate.ramp(now)
            self._own_turned(now, blame=False)

    def _refund(self, now: float) -> None:
        """What opened the lane was the lane's failure: it costs the deliveries nothing."""
        for seq, attempts, tries in self.doubts.refundable(self.streams.busy):
            due = Due(
                lane=self.number,
                seq=seq,
                stream=Stream.READY,
                message="",
                event_type="",
                payload=None,
                accepted_at=now,
                tries=tries,
            )
            ruling = Ruling(State.READY, Reason.LANE_OPEN, attempts, counted=False)
            self.streams.busy.add(seq)
            self.streams.rewind()  # it may be at hand as it was
            self.desk.finish(self, due, settlement(due, ruling, None, now=now))

    # --- Settlements ----------------------------------------------------------------------------

    def settled(self, due: Due, made: Settlement | Resent, *, done: bool) -> None:
        """A settlement was written down, or was not because something else had happened."""
        self.unsettled -= 1
        self.desk.stale += not done
        if self.left:
            return
        if isinstance(made, Resent):
            self.streams.done(due)
        elif not done:
            self.desk.doubt()
            self.streams.behind(due.seq)
        elif made.state in ENDED:
            self._over(due, made)
        else:
            self._goes_on(due, made)
        if self.in_flight and not self.dozing:
            self.streams.read_on()
        self._refund(self.desk.now())

    def _over(self, due: Due, made: Settlement) -> None:
        self.ended += 1
        self.desk.delivered += made.state is State.DELIVERED
        self.streams.done(due)
        if made.state is State.FAILED:
            self.desk.failed += 1
            now = self.desk.now()
            if made.reason in TOLD:
                self._change(self.record.ended(self.endpoint, due.message, made.reason, now))
            if self.endpoint.fifo and self.endpoint.blocking:
                self._stand(Standing.PAUSED, f"its first delivery failed: {made.reason}", now)

    def _goes_on(self, due: Due, made: Settlement) -> None:
        streams, at = self.streams, made.due_at
        if not streams.fifo and made.state is State.WAITING and at is not None:
            streams.done(due)
            streams.due_at(at)
            return
        moment = self.doubts.moment(due)
        if due.payload is None or not (streams.fifo or moment is not None):
            streams.behind(due.seq)
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
        streams.later(row, self.desk.now() + (moment or 0.0) if at is None else at)

    # --- The endpoint's record ------------------------------------------------------------------

    def look_after(self, now: float) -> None:
        """Warn the endpoint's owner, or park the endpoint, when it is time."""
        self._change(self.record.due(self.endpoint, self.gate.pace, now))

    def save(self, now: float) -> None:
        """Have what is known written down with the next settlements."""
        self._change(self.record.saved(self.gate.pace, now))

    def _stand(self, standing: Standing, why: str, now: float) -> None:
        if self.endpoint.standing is Standing.ENABLED:
            facts: dict[str, str | float | None] = {"why": why}
            self._change(self.record.stood(self.endpoint, standing, self.gate.pace, now, facts))

    def _change(self, change: Change | None) -> None:
        if change is not None and not self.left:
            self.endpoint = stands(self.endpoint, change)
            self.desk.change(change)
