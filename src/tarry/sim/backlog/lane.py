"""A webhook lane in virtual time: the pacer of `core` sends what waits for one endpoint.

The lane found the endpoint down when the outage began, and has been open since. `core.blame`
decides which failures count against the endpoint. A delivery that fails while the lane is paced is
retried after a short wait. One that fails while it is open or closed goes to the end of the
backlog. Fresh messages go first, but every second send is the backlog's.

The `lanes` of one origin share its pacer while it is not closed, and take turns. So a dead gateway
is probed like one endpoint, however many endpoints lie behind it.
"""

import heapq
import math
from collections import Counter, deque
from itertools import count

import numpy as np

from tarry.core.pace import Pace, PacerRule, Phase, Seen
from tarry.core.pacer import handed_over, step
from tarry.core.probe import probed
from tarry.core.spacing import next_slot
from tarry.sim.backlog.delivery_log import DeliveryLog
from tarry.sim.backlog.lane_blame import LaneBlame
from tarry.sim.backlog.settings import BacklogSettings
from tarry.sim.chance import Chance

MOST_IN_FLIGHT = 256
SCATTER = 0.2
"""The random variation of response times, as a share of the latency in either direction."""


def simulate(settings: BacklogSettings, rule: PacerRule, chance: Chance) -> DeliveryLog:
    """Simulate one run, from the start of the outage until all waiting deliveries are made."""
    lane = _Lane(settings, rule, chance)
    lane.run()
    return lane.log()


class _Lane:
    def __init__(self, settings: BacklogSettings, rule: PacerRule, chance: Chance) -> None:
        self._settings, self._rule = settings, rule
        self._endpoint = settings.opened(chance)
        self._error, self._scatter = chance.draws("errors"), chance.draws("latency")
        self._jitter, self._again = chance.draws("pacer"), chance.draws("jitter")
        self._fresh_at = settings.fresh(chance)
        self._arrived = 0
        self._backlog = deque(range(settings.waiting))
        self._backlog.rotate(-rule.failures)  # the first ones opened the lane by their failures
        self._fresh: deque[int] = deque()
        self._retries: list[tuple[float, int]] = []
        self._blame = LaneBlame(rule)
        self._left = settings.waiting
        self._delivered = np.full(settings.waiting + len(self._fresh_at), np.inf)
        opening = rule.failures if settings.outage else 0  # without an outage none has failed
        self._sent: list[float] = []
        self._before: list[float] = []
        self._lanes = Counter(first % settings.lanes for first in range(opening))
        self._spent = opening
        self._air: list[tuple[float, int, int, bool, int, float]] = []
        self._serial = count()
        self._turn = False
        self._now = -settings.outage
        self._free_at = self._now
        self._owned_until = self._now + (settings.handover or math.inf)
        self._stepped_at = self._now
        self._tally = _Tally()
        down = Pace(capacity=settings.remembered)
        self._pace = self._step(down, Seen(failed=rule.failures))

    # --- The clock ------------------------------------------------------------------------------

    def run(self) -> None:
        """Process events in order of time; at the same time, responses come before sends."""
        while self._left and self._now < self._settings.watch:
            answer = self._air[0][0] if self._air else math.inf
            arrival = (
                self._fresh_at[self._arrived] if self._arrived < len(self._fresh_at) else math.inf
            )
            tick, send = self._tick_at(), self._send_at()
            soonest = min(answer, arrival, tick, send, self._owned_until)
            self._now = max(self._now, float(soonest))
            if soonest == self._owned_until:
                self._hand_over()
            elif soonest == answer:
                self._answer()
            elif soonest == arrival:
                self._fresh.append(self._settings.waiting + self._arrived)
                self._arrived += 1
            elif soonest == tick:
                self._report()
            else:
                self._send()

    def _tick_at(self) -> float:
        if self._pace.phase is not Phase.PACED and not self._tally.answers:
            return math.inf
        return self._stepped_at + self._rule.tick

    def _send_at(self) -> float:
        """Return when the lane may send next; infinity if it has nothing to send or must not."""
        if not (self._backlog or self._fresh):
            if not self._retries:
                return math.inf
            ready = self._retries[0][0]
        else:
            ready = self._now
        if self._pace.phase is Phase.OPEN:
            return math.inf if self._air else max(ready, self._pace.probe_at)
        room = MOST_IN_FLIGHT if math.isinf(self._pace.rate) else self._pace.room()
        return math.inf if len(self._air) >= room else max(ready, self._free_at)

    # --- What happens ---------------------------------------------------------------------------

    def _send(self) -> None:
        """Send the next delivery, and put its answer on the list of those to come."""
        now, pace = self._now, self._pace
        delivery = self._next()
        passes, took = self._answered()
        if pace.phase is Phase.OPEN:
            self._pace = pace = probed(
                self._rule, pace, now=now, waiting=self._waiting(), draw=self._jitter()
            )
        answer = (now + took, next(self._serial), delivery, passes, pace.epoch, now)
        heapq.heappush(self._air, answer)
        if now < 0:
            self._spent += 1
            self._before.append(now)
            self._lanes[delivery % self._settings.lanes] += 1
        else:
            self._sent.append(now)
        self._free_at = next_slot(self._free_at, sent_at=now, rate=pace.rate) if pace.rate else now

    def _next(self) -> int:
        """Return the next delivery to send; fresh ones get every second turn."""
        while self._retries and self._retries[0][0] <= self._now:
            self._backlog.appendleft(heapq.heappop(self._retries)[1])
        self._turn = not self._turn
        if self._fresh and (self._turn or not self._backlog):
            return self._fresh.popleft()
        return self._backlog.popleft()

    def _answered(self) -> tuple[bool, float]:
        """Return whether an attempt made now succeeds, and how long its response takes."""
        settings, now = self._settings, self._now
        scatter = 1 + SCATTER * (2 * self._scatter() - 1)
        if now < 0 and settings.hangs:
            return False, settings.timeout
        if now < 0 or not self._endpoint.accepts(now, 1):
            return False, scatter * (
                settings.latency if settings.refusal is None else settings.refusal
            )
        took = scatter * settings.latency + self._endpoint.delay(now)
        if took > settings.timeout:
            return False, settings.timeout
        return settings.error_rate == 0 or self._error() >= settings.error_rate, took

    def _answer(self) -> None:
        """Handle the next answer."""
        _, _, delivery, passed, epoch, sent_at = heapq.heappop(self._air)
        late, took = epoch != self._pace.epoch, self._now - sent_at
        if passed:
            self._blame.succeeded(delivery, sent_at, self._now)
            self._tally.passed(late=late, took=took)
            self._delivered[delivery] = self._now
            self._left -= delivery < self._settings.waiting
        else:
            self._handle_failure(delivery, late=late)
        if self._pace.phase is Phase.OPEN:
            self._report()

    def _handle_failure(self, delivery: int, *, late: bool) -> None:
        """Count a failure if it is the endpoint's, and schedule the delivery's retry."""
        phase = self._pace.phase
        verdict = self._blame.failed(delivery, phase, self._now)
        if verdict.counts is not None:
            self._tally.failed(verdict.counts, late=late)
        if phase is Phase.PACED:
            wait = self._blame.retry_in(delivery, verdict.whose, self._now, self._again())
            heapq.heappush(self._retries, (self._now + wait, delivery))
        else:
            self._backlog.append(delivery)

    def _report(self) -> None:
        asked = self._settings.retry_after if self._now < 0 else None
        self._pace = self._step(self._pace, self._tally.seen(asked))
        self._tally = _Tally()

    def _step(self, pace: Pace, seen: Seen) -> Pace:
        """Let the pacer make a step, and return its new pace."""
        self._stepped_at = self._now
        stepped = step(
            self._rule, pace, seen, now=self._now, waiting=self._waiting(), draw=self._jitter
        )
        if stepped.phase is not pace.phase:
            self._blame.turned(stepped.phase)
        return stepped

    def _hand_over(self) -> None:
        """Hand the lane to a new owner, who repeats the attempts in flight."""
        self._backlog.extendleft(delivery for _, _, delivery, *_ in self._air)
        self._air.clear()
        self._tally = _Tally()
        self._pace = handed_over(self._pace, now=self._now)
        self._owned_until = self._now + (self._settings.handover or math.inf)

    def _waiting(self) -> int:
        return len(self._backlog) + len(self._fresh) + len(self._retries)

    def log(self) -> DeliveryLog:
        """Return what happened."""
        waiting = self._settings.waiting
        return DeliveryLog(
            attempts=np.array(self._sent),
            spent=self._spent,
            delivered=self._delivered[:waiting],
            fresh_at=self._fresh_at[: self._arrived],
            fresh_delivered=self._delivered[waiting:][: self._arrived],
            lost=0,
            ended=min(self._now, self._settings.watch),
            before=np.array(self._before),
            most_spent=max(self._lanes.values(), default=0),
        )


class _Tally:
    """The responses since the last step."""

    def __init__(self) -> None:
        self.answers = 0
        self._passed = self._failed = self._late = self._missed = self._spared = 0
        self._took = 0.0

    def passed(self, *, late: bool, took: float) -> None:
        """Count a success."""
        self._late += late
        self._passed += not late
        self._took += took
        self.answers += 1

    def failed(self, failures: int, *, late: bool) -> None:
        """Count a failed attempt as this many failures of the endpoint; 0: it is not to blame."""
        if not failures:
            self._spared += 1
            return
        self._missed += failures * late
        self._failed += failures * (not late)
        self.answers += 1

    def seen(self, retry_after: float | None) -> Seen:
        """Return the pacer's view. As in the service, only successes say how long answers take."""
        passed = self._passed + self._late
        took = self._took / passed if passed else 0.0
        return Seen(
            self._passed,
            self._failed,
            self._late,
            took,
            retry_after,
            missed=self._missed,
            spared=self._spared,
        )
