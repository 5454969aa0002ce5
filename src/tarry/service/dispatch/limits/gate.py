"""Runs the pacer of `core`: counts answers, steps the pacer on time, and decides when to send next.

A lane has one gate, and an origin has one for all its lanes together. A gate's pace is stored as
JSON, so that the next owner of a lane continues from it.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import msgspec

from tarry.core.pace import CLOSED, OPEN, PACED, Pace, PacerRule, Phase, Sample, Seen
from tarry.core.pacer import handed_over, in_a_row, opened, ramped, row_of_outage, step
from tarry.core.probe import SHORTEST, probed
from tarry.core.probe_rule import ProbeRule
from tarry.core.search import throttled
from tarry.core.window import Window
from tarry.service.dispatch.clock import LONG_AGO
from tarry.service.dispatch.limits.shared import NO_SPACING, Spacing

# --- The gate -----------------------------------------------------------------------------------

RULE = PacerRule(growth=1.2)
"""The rate grows by a fifth at a step. If no capacity is remembered, the first overload is about
1.2 times the capacity, and a recovery takes a few seconds longer than with bigger steps."""
WATCHED = 1.0
"""Seconds for which a closed gate ticks after a failure: so long it may open because of it."""
FEW_ANSWERS = 10
"""A gate with fewer answers than this also uses those of other lanes, if these have twice as many.
"""
_NO_RESULTS = Window()
MOST_RULES = 1_000


@lru_cache(MOST_RULES)
def rule_of(probe: ProbeRule) -> PacerRule:
    """Return the pacer's rule with this `[probe]`; cached since many lanes share a policy."""
    return RULE if probe == RULE.probe else RULE.replace(probe=probe)


def scaled(pace: Pace, factor: float) -> Pace:
    """Return the pace with its rates and its estimate of the capacity multiplied by a factor."""
    return pace.replace(
        rate=pace.rate * factor,
        goal=None if pace.goal is None else pace.goal * factor,
        capacity=None if pace.capacity is None else pace.capacity * factor,
        failed_at=pace.failed_at * factor,
    )


class Gate:
    """One pacer, its number of sends in flight, and the answers since its last step."""

    __slots__ = (
        *("_asked", "_draw", "_failed", "_failed_at", "_late", "_missed", "_passed", "_passed_at"),
        *("_reported_phase", "_spacing", "_spared", "_took", "extra_probe", "hanging", "in_flight"),
        *("pace", "phase", "rule"),
    )

    def __init__(self, pace: Pace, draw: Callable[[], float]) -> None:
        self.rule = RULE
        """The pacer's rule, with the `[probe]` of a policy if one was set."""
        self.pace = pace
        self.phase = pace.phase
        """The phase of `pace`, as a field since each delivery reads it several times."""
        self.in_flight = 0
        self.hanging = 0
        """How many of those in flight need no room: they go to endpoints that do not answer."""
        self.extra_probe = False
        """Whether one more probe may go while another is in flight."""
        self._draw = draw
        self._spacing = NO_SPACING
        self._set_rate(pace.rate)
        self._asked: float | None
        self._forget_answers()
        self._passed_at = LONG_AGO
        self._failed_at = LONG_AGO
        self._reported_phase = pace.phase

    def set_probes(self, probe: ProbeRule, now: float) -> None:
        """Probe by this rule from now on: a probe that it would send sooner comes sooner."""
        if probe is self.rule.probe or probe == self.rule.probe:
            return
        self.rule = rule_of(probe)
        age = now - self.pace.down_since
        if self.phase is OPEN and age >= RULE.span:
            latest = now + max(SHORTEST, probe.latest(age, waiting=1))
            self._set_pace(self.pace.replace(probe_at=min(self.pace.probe_at, latest)))

    def free_at(self, now: float, most: int) -> float:
        """Return when the next send may go; infinity while an answer must come first."""
        phase = self.phase
        if phase is CLOSED:
            return now if self.in_flight < most else math.inf
        if phase is OPEN:
            waits = self.in_flight and not self.extra_probe
            return math.inf if waits else max(now, self.pace.probe_at)
        return self._spacing.free_at(now) if self.room(most) > 0 else math.inf

    def room(self, most: int) -> int:
        """Return how many more sends may be in flight at the pace."""
        return min(most, self.pace.room()) - max(0, self.in_flight - self.hanging)

    def set_hanging(self, hanging: int) -> None:
        """Make room for others in place of requests that go to endpoints that do not answer."""
        self.hanging = min(hanging, self.in_flight)

    def sent(self, now: float, waiting: int) -> int:
        """Count a send; return the epoch of its pace, which has to be passed to `answered`."""
        self.in_flight += 1
        if self.pace.phase is OPEN:
            self.extra_probe = False
            self.pace = probed(self.rule, self.pace, now=now, waiting=waiting, draw=self._draw())
        elif self.pace.phase is PACED:
            self._spacing.sent(now)
        return self.pace.epoch

    def answered(  # noqa: PLR0913  everything that a pacer learns from an answer
        self,
        *,
        passed: bool,
        failures: int,
        epoch: int,
        took: float,
        asked: float | None,
        now: float,
    ) -> None:
        """Count an answer, which stands for this many failures; `step` evaluates it later.

        An answer that neither passed nor stands for a failure counts only as sent.
        """
        self.in_flight -= 1
        if not passed and not failures:
            self._spared += self.phase is PACED
            return
        if passed:
            self._passed_at = now
        elif (self._passed or self._late) and not (self._failed or self._missed):
            # A success of long ago must not count as one of now.
            self._step(self._passed_at, 1)
        late = epoch != self.pace.epoch
        if passed:
            self._late += late
            self._passed += not late
        elif late:
            self._missed += failures
        else:
            self._failed += failures
        if passed:
            # A request that times out says nothing about how quickly others are answered.
            self._took += took
        else:
            self._failed_at = now
            if asked is not None:
                self._asked = max(asked, self._asked or 0.0)

    def lost(self) -> None:
        """Count a send that ended without saying anything about the endpoint."""
        self.in_flight -= 1

    @property
    def fails_by_chance(self) -> bool:
        """Whether its latest failures in a row are no more than it often has by chance."""
        row = in_a_row(self.rule, self.pace)
        streak = self.pace.streak + self._failed + self._missed
        return self.phase is CLOSED and RULE.failures < row and streak < row

    def row_beyond_chance(self, now: float, *, besides: int) -> int:
        """Return how many failures in a row are an outage, by what failed here in the last second.

        Leave out this many failures: those of the lanes that are judged.
        """
        passed, answers = self.pace.flowed(now)
        return row_of_outage(self.rule, Sample(passed, max(0, answers - passed - besides)))

    def needs_tick(self, now: float) -> bool:
        """Return whether `step` has to be called at the next tick."""
        phase = self.pace.phase
        return phase is PACED or (phase is CLOSED and now - self._failed_at < WATCHED)

    def step(self, now: float, waiting: int) -> bool:
        """Evaluate the answers; return whether the phase has changed since the last call."""
        self._step(now, waiting)
        before, self._reported_phase = self._reported_phase, self.phase
        return self.phase is not before

    def _step(self, now: float, waiting: int) -> None:
        """Set the pace by the answers since the last step, and count from zero again."""
        passed = self._passed + self._late
        seen = Seen(
            self._passed,
            self._failed,
            self._late,
            self._took / passed if passed else 0.0,
            self._asked,
            missed=self._missed,
            spared=self._spared,
        )
        self._forget_answers()
        # A paced gate waits for the last answer: a delivery that fails is sent again at its pace.
        left = waiting or (self.in_flight if self.phase is PACED else 0)
        self._set_pace(step(self.rule, self.pace, seen, now=now, waiting=left, draw=self._draw))

    def _forget_answers(self) -> None:
        """Start to count answers from zero: they were evaluated, or are about an earlier time."""
        self._passed = self._failed = self._late = self._missed = self._spared = 0
        self._took, self._asked = 0.0, None

    def bring_probe_forward(self, now: float) -> float:
        """Plan the next probe for now; return how many seconds sooner that is.

        It waits for a probe in flight. The caller has to wake the lane that sends it.
        """
        sooner = self.pace.probe_at - now
        if self.phase is not OPEN or sooner <= 0:
            return 0.0
        self._set_pace(self.pace.replace(probe_at=now))
        return sooner

    def allow_extra_probe(self, now: float) -> float:
        """Let one probe go now, even beside one in flight; return how many seconds sooner."""
        self.extra_probe = self.phase is OPEN
        return self.bring_probe_forward(now)

    def delay(self, longer: float) -> None:
        """Let the next probe go this many seconds later."""
        if longer > 0:
            self._set_pace(self.pace.replace(probe_at=self.pace.probe_at + longer))

    def open(
        self,
        now: float,
        waiting: int,
        capacity: float | None = None,
        since: float | None = None,
    ) -> None:
        """Open the gate because of evidence from elsewhere.

        If known, set the endpoint's capacity, and since when it is down.
        """
        self._forget_answers()  # they are from before
        if capacity is not None:
            self.pace = self.pace.replace(capacity=capacity)
        pace = opened(self.rule, self.pace, now=now, waiting=waiting, draw=self._draw())
        self._set_pace(pace if since is None else pace.replace(down_since=since))
        self._reported_phase = self.phase

    def follow(self, other: Pace) -> None:
        """Take over the outage and the next probe from a process that probes the same endpoint."""
        self._set_pace(
            self.pace.replace(
                probe_at=other.probe_at,
                probes=other.probes,
                down_since=other.down_since,
                capacity=other.capacity,
            )
        )

    def passed_elsewhere(self, other: Pace, now: float) -> None:
        """Count a probe that another process sent and that passed."""
        self.follow(other)
        self.passed_without_send(self.pace.epoch, other.latency, now)

    def passed_without_send(self, epoch: int, took: float, now: float) -> None:
        """Count a success of a request that was not sent through this gate."""
        self.in_flight += 1
        self.answered(passed=True, failures=0, epoch=epoch, took=took, asked=None, now=now)

    def scale(self, factor: float) -> None:
        """Multiply the pace and its estimate of the capacity."""
        self._set_pace(scaled(self.pace, factor))

    def take_over_failures(self, failures: int) -> None:
        """Set the number of failures in a row from before this worker loaded the lane."""
        self.pace = self.pace.replace(streak=failures)

    def assume(self, history: Sample) -> None:
        """Expect as many failures by chance as others have at the same origin.

        Otherwise a new lane whose first five attempts fail would take that for an outage, although
        half of the other lanes' requests are accepted there. A few answers of others are not
        enough: if a lane opens too late, its deliveries use up their attempts.
        """
        own = self.pace.history
        if own.answers < FEW_ANSWERS and history.answers >= 2 * FEW_ANSWERS:
            self.pace = self.pace.replace(history=own.add(history.passed, history.failed))

    def ramp(self, now: float, failures: int = 0) -> None:
        """Send at a pace although the endpoint is not down: many deliveries wait at once.

        It has failed so often in a row; a closed gate does not count single refusals.
        """
        if self._passed or self._late or self._failed or self._missed:
            # They must not count as answers to the pace, however long ago they were.
            self._step(max(self._passed_at, self._failed_at), 1)
        if self.phase is CLOSED:
            self.take_over_failures(failures)
            self._set_pace(ramped(self.rule, self.pace, now=now))
            self._reported_phase = self.phase

    def slow_down(self, epoch: int, asked: float, now: float) -> None:
        """Go slower: the answer to an attempt at the pace of this epoch asked for a pause."""
        if self.phase is PACED and epoch == self.pace.epoch:
            self._set_pace(throttled(self.rule, self.pace, asked, now=now))

    def hold(self, until: float) -> None:
        """Remember that the endpoint asked to receive nothing until then."""
        self.pace = self.pace.replace(held_until=until)

    def close(self, *, forget: bool = False) -> None:
        """Close the gate: another gate has the pace now. Keep what it learned, or `forget` it."""
        self._forget_answers()
        kept = Pace() if forget else self.pace
        self._set_pace(
            Pace(
                capacity=kept.capacity,
                baseline=kept.baseline,
                most=kept.most,
                judged=kept.judged,
                history=kept.history,
                epoch=self.pace.epoch + 1,
                held_until=kept.held_until,
            )
        )
        self._reported_phase = self.phase

    def _set_pace(self, pace: Pace) -> None:
        if pace.phase is OPEN and pace.flow.slices:
            # Probes do not need these windows: they take a kilobyte, and start empty at the ramp.
            pace = pace.replace(answered=_NO_RESULTS, flow=_NO_RESULTS)
        self.pace = pace
        self.phase = pace.phase
        self.extra_probe = self.extra_probe and pace.phase is OPEN
        self._set_rate(pace.rate)

    def _set_rate(self, rate: float) -> None:
        if not 0 < rate < math.inf:
            self._spacing = NO_SPACING
        elif self._spacing is NO_SPACING:
            self._spacing = Spacing(rate)
        else:
            self._spacing.pace(rate)


# --- Its pace as it is stored -------------------------------------------------------------------

_NUMBERS = (
    *("rate", "goal", "capacity", "baseline", "most", "judged", "epoch", "since", "begun", "climb"),
    *("hold", "failed_at", "latency", "usual", "down_since", "probes", "probe_at"),
    "held_until",
)
"""The fields that are kept in a hand-over; all others are about attempts of the old owner."""
_COUNTS = ("judged", "epoch", "probes")
_FRESH = Pace()


def write_pace(pace: Pace, **texts: str) -> bytes:
    """Return a pace and these texts as JSON, without fields that have their initial values."""
    numbers = {
        name: value
        for name in _NUMBERS
        if (value := getattr(pace, name)) != getattr(_FRESH, name)
        and value is not None
        and math.isfinite(value)
    }
    return msgspec.json.encode({"phase": pace.phase, **texts, **numbers})


def read_pace(text: bytes, *, now: float) -> Pace:
    """Return a pace as a new owner starts with it. A text that cannot be read is ignored."""
    if not text:
        return _FRESH  # one shared value for all without a pace
    try:
        fields = msgspec.json.decode(text, type=dict[str, float | str])
        phase = Phase(str(fields.pop("phase", CLOSED)))
        numbers = {
            name: int(value) if name in _COUNTS else float(value)
            for name, value in fields.items()
            if name in _NUMBERS
        }
        pace = Pace(phase=phase).replace(**numbers)
    except (msgspec.DecodeError, ValueError, TypeError):
        return _FRESH
    return handed_over(pace, now=now)
