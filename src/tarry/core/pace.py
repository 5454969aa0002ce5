"""What a lane knows of its endpoint: how fast it may send, and what the answers have told.

A lane is *closed* while all is well: everything goes at once. It is *open* while the endpoint is
down: one probe at a time. It is *paced* while a backlog drains: sends are spaced by `rate`.
The steps from one state to the next are in `pacer` and `search`, the times of probes in `probe`.
"""

import math
from collections.abc import Mapping
from enum import StrEnum

from tarry.core import checks
from tarry.core.value import Value, settle
from tarry.core.window import SLICES, Window, slot_of

SECOND = 1.0
"""Over how long rates are measured."""
MOMENT = SLICES // 4
"""How many slices of a second make the moment just past."""

SLOWLY = 60.0
"""How many seconds it takes to believe that passes usually take another time."""
FADING = 3.0
"""How many seconds it takes until the most that passed counts for little more than a third."""

REMEMBERED = 200
"""How many answers of a closed lane are remembered at most."""


class Phase(StrEnum):
    """Where a lane stands."""

    CLOSED = "closed"
    OPEN = "open"
    PACED = "paced"


CLOSED, OPEN, PACED = Phase
"""Plain names for what runs with every delivery: looking up a member of an enum takes its time."""

MOVES: Mapping[Phase, frozenset[Phase]] = {
    Phase.CLOSED: frozenset({Phase.OPEN, Phase.PACED}),  # it is down, or it is overloaded
    Phase.OPEN: frozenset({Phase.PACED}),  # a probe passed
    Phase.PACED: frozenset({Phase.CLOSED, Phase.OPEN}),  # nothing waits any more, or down again
}


class Mode(StrEnum):
    """What a paced lane is about."""

    CLIMB = "climb"  # going up, or holding
    LOOK = "look"  # failures were noticed: a chance, or the endpoint's limit?
    TEST = "test"  # a little slower: do they go away?
    SETTLE = "settle"  # nearly all failed: half as fast until it answers again


class PacerRule(Value):
    """How a lane is opened, probed, ramped up and held. The defaults suit any endpoint.

    Opens on `failures` in a row with no success for `silence` seconds. Probes are at most the share
    `allowance` of what waits, or `least_probes`, in `span` seconds. The ramp starts at `first` a
    second, or at the share `head_start` of a capacity that is remembered. A pace that holds is
    tried higher by the share `creep` after `hold` seconds, or up to `longest_hold` where that
    keeps failing.
    """

    failures: int
    silence: float
    allowance: float
    least_probes: int
    span: float
    first: float
    head_start: float
    growth: float
    hold: float
    longest_hold: float
    creep: float
    tick: float

    def __init__(  # noqa: PLR0913  one argument a field
        self,
        *,
        failures: int = 5,
        silence: checks.Seconds = 0.3,
        allowance: float = 0.03,
        least_probes: int = 20,
        span: checks.Seconds = 600.0,
        first: float = 20.0,
        head_start: float = 0.5,
        growth: float = 1.5,
        hold: checks.Seconds = 4.0,
        longest_hold: checks.Seconds = 10.0,
        creep: float = 0.03,
        tick: checks.Seconds = 0.05,
    ) -> None:
        settle(self, "failures", checks.count("pacer.failures", failures))
        settle(self, "silence", checks.seconds("pacer.silence", silence))
        settle(self, "allowance", checks.share("pacer.allowance", allowance))
        # Some of them open the lane, and some more find out about an outage that was short.
        least = self.failures + 5
        settle(self, "least_probes", checks.count("pacer.least_probes", least_probes, least=least))
        settle(self, "span", checks.positive_seconds("pacer.span", span))
        settle(self, "first", _above("pacer.first", first, 0))
        settle(self, "head_start", checks.share("pacer.head_start", head_start))
        settle(self, "growth", _above("pacer.growth", growth, 1))
        settle(self, "hold", checks.positive_seconds("pacer.hold", hold))
        settle(self, "longest_hold", checks.positive_seconds("pacer.longest_hold", longest_hold))
        settle(self, "creep", _above("pacer.creep", creep, 0))
        settle(self, "tick", checks.positive_seconds("pacer.tick", tick))


class Seen(Value):
    """What was answered since the last step.

    `passed` and `failed` are of attempts made at the present pace (`Pace.epoch`); `late` passed
    too and `missed` failed too, but were sent at an earlier one. `spared` failed, and say nothing
    of the pace. `took` is how long answers took on average. `retry_after` is the longest wait the
    endpoint asked for.
    """

    passed: int
    failed: int
    late: int
    took: float
    retry_after: float | None
    missed: int
    spared: int

    def __init__(  # noqa: PLR0913  one argument a field
        self,
        passed: int = 0,
        failed: int = 0,
        late: int = 0,
        took: float = 0.0,
        retry_after: float | None = None,
        *,
        missed: int = 0,
        spared: int = 0,
    ) -> None:
        settle(self, "passed", passed)
        settle(self, "failed", failed)
        settle(self, "late", late)
        settle(self, "took", took)
        settle(self, "retry_after", retry_after)
        settle(self, "missed", missed)
        settle(self, "spared", spared)

    @property
    def judged(self) -> int:
        """How many answers speak for or against the present pace."""
        return self.passed + self.failed


class Sample(Value):
    """How many attempts at one pace passed and failed."""

    passed: int = 0
    failed: int = 0

    @property
    def answers(self) -> int:
        """How many there are in all."""
        return self.passed + self.failed

    @property
    def share(self) -> float:
        """The share that failed; 0 if there are none."""
        return self.failed / self.answers if self.answers else 0.0

    def add(self, passed: int, failed: int) -> "Sample":
        """Return the sample with these answers added."""
        return Sample(self.passed + passed, self.failed + failed)

    def faded(self, most: int) -> "Sample":
        """Return the sample, scaled down to half of `most` answers once it has more."""
        if self.answers <= most:
            return self
        kept = most / 2 / self.answers
        return Sample(int(kept * self.passed), int(kept * self.failed))


class Pace(Value):
    """All a lane knows, as one frozen value.

    What may be sent: `rate` is sends a second, since `since`; the lane is paced since `begun`, or
    down since `down_since`, with so many `probes` spent, the next at `probe_at`. The endpoint wants
    nothing before `held_until`; to keep to that is for whoever sends.

    What is known: `goal` is where the endpoint's limit is thought to be (None: no idea), and
    `capacity` the same, kept for the next outage. `baseline` is the share of failures that has
    nothing to do with the pace, learned from `judged` answers; it is at `most` so high unless a
    test shows more. `failed_at` is the pace that last proved too much. `latency` is how long
    answers take lately, `usual` how long passes usually do.

    What comes next: `climb` is the share of the next step up, `hold` how long to wait before the
    pace that failed is tried again. In doubt, `tried` is the pace that made failures, `suspect`
    the answers at it, `found` what may be the limit, and `sample` the answers to the present pace
    since it was taken up.

    What was seen: `answered` counts the answers to the present pace, whose number is `epoch`, and
    `flow` all of them, passed and in all. `history` are the latest answers while the lane was
    closed. `top` is the most that passed in a second, as of `topped_at`. `run` passes and `streak`
    failures came in a row; the last pass was at `passed_at`.
    """

    phase: Phase = Phase.CLOSED
    mode: Mode = Mode.CLIMB
    rate: float = math.inf
    goal: float | None = None
    capacity: float | None = None
    baseline: float = 0.0
    most: float = 0.0
    judged: int = 0
    epoch: int = 0
    since: float = 0.0
    begun: float = 0.0
    climb: float = 0.0
    hold: float = 0.0
    failed_at: float = math.inf
    tried: float = math.inf
    found: float = 0.0
    suspect: Sample = Sample()
    sample: Sample = Sample()
    history: Sample = Sample()
    answered: Window = Window()
    flow: Window = Window()
    top: float = 0.0
    topped_at: float = 0.0
    run: int = 0
    streak: int = 0
    passed_at: float = -math.inf
    latency: float = 0.0
    usual: float = math.inf
    down_since: float = 0.0
    probes: int = 0
    probe_at: float = 0.0
    held_until: float = 0.0

    def recent(self, now: float, slices: int = SLICES) -> tuple[int, int]:
        """How many passed and failed at this pace, in the last second or a part of it."""
        passed, failed = self.answered.sums(slot_of(now, SECOND), slices, 2)
        return passed, failed

    def accepted(self, now: float) -> float:
        """How many a second passed in the moment just past."""
        return self.flow.sums(slot_of(now, SECOND), MOMENT, 2)[0] * SLICES / MOMENT

    def offered(self, now: float) -> float:
        """How many a second were answered, one way or the other, in the last second."""
        answered = self.flow.sums(slot_of(now, SECOND), SLICES, 2)[1]
        return answered / max(0.1, min(SECOND, now - self.begun - self.latency))

    def best(self, now: float) -> float:
        """The most that passed in a second, the less the longer ago."""
        fading = max(FADING, 20 / max(self.rate, 1.0))  # a slow lane needs longer for a verdict
        return self.top * math.exp(-max(0.0, now - self.topped_at) / fading)

    def busy(self, now: float) -> bool:
        """Whether about as much was sent as the rate allows: else it says nothing about it."""
        slot = slot_of(now, SECOND)
        second = self.flow.sums(slot, SLICES, 2)[1]
        moment = self.flow.sums(slot, MOMENT, 2)[1] * SLICES / MOMENT
        return max(second, moment) >= 0.5 * self.rate

    def room(self) -> int:
        """How many attempts may be in the air: a slow endpoint must not pile them up."""
        return max(4, math.ceil(2 * self.rate * max(self.latency, 0.05)))


def counted(pace: Pace, seen: Seen, now: float) -> Pace:
    """The state with these answers added up."""
    passed, failed = seen.passed + seen.late, seen.failed + seen.missed
    slot = slot_of(now, SECOND)
    if seen.spared:
        served = round((1 - pace.baseline) * seen.spared)  # `cut` makes it whole again
        pace = pace.replace(flow=pace.flow.add(slot, (served, seen.spared)))
    if not (passed or failed):
        return pace
    flow = pace.flow.add(slot, (passed, passed + failed))
    return pace.replace(
        answered=pace.answered.add(slot, (seen.passed, seen.failed)),
        flow=flow,
        top=max(flow.sums(slot, SLICES, 2)[0], pace.best(now)),
        topped_at=now,
        run=0 if seen.failed else pace.run + seen.passed,
        history=_history(pace, seen),
        streak=0 if passed else pace.streak + failed,
        passed_at=now if passed else pace.passed_at,
        latency=max(seen.took, 0.9 * pace.latency),
        usual=pace.usual if failed else _usual(pace, seen.took, now),
    )


def _history(pace: Pace, seen: Seen) -> Sample:
    """The answers of late while the lane was closed.

    Failures count once an answer has passed after them: those of an outage never do.
    """
    if pace.phase is not Phase.CLOSED or not (seen.passed or seen.late):
        return pace.history
    return pace.history.add(seen.passed, pace.streak + seen.failed).faded(REMEMBERED)


def _usual(pace: Pace, took: float, now: float) -> float:
    """How long a pass takes on average over a while.

    A failure is left aside: it may be quick because nothing was done.
    """
    if pace.usual == math.inf:
        return took
    return pace.usual + (took - pace.usual) * min(1.0, max(0.0, now - pace.topped_at) / SLOWLY)


def _above(field: str, value: float, least: float) -> float:
    return checks.number(field, value, f"a number above {least:g}", lambda found: found > least)
