"""What a lane knows of its endpoint: how fast it may send, and what the answers have shown.

A lane is *closed* while all is well: deliveries are sent at once. It is *open* while the endpoint
is down: one probe is sent at a time. It is *paced* while a backlog drains: sends are spaced by
`rate`. `pacer` and `search` have the steps from one state to the next, `probe` the times of probes.
"""

import math
from collections.abc import Mapping
from enum import StrEnum

from tarry.core import checks
from tarry.core.probe_rule import PROBES, ProbeRule
from tarry.core.value import Value, settle
from tarry.core.window import SLICES, Window, slot_of

SECOND = 1.0
"""Seconds over which rates are measured."""
MOMENT = SLICES // 4
"""How many slices of a second make the last moment."""

SLOWLY = 60.0
"""Seconds over which the usual latency of successes is averaged."""
FADING = 3.0
"""Seconds after which the best rate that passed counts for little more than a third."""

REMEMBERED = 200
"""How many answers of a closed lane are remembered at most."""


class Phase(StrEnum):
    """The phase of a lane."""

    CLOSED = "closed"
    OPEN = "open"
    PACED = "paced"


CLOSED, OPEN, PACED = Phase
"""Plain names for code that runs with every delivery: looking up an enum's member takes time."""

MOVES: Mapping[Phase, frozenset[Phase]] = {
    Phase.CLOSED: frozenset({Phase.OPEN, Phase.PACED}),  # the endpoint is down, or overloaded
    Phase.OPEN: frozenset({Phase.PACED}),  # a probe passed
    Phase.PACED: frozenset({Phase.CLOSED, Phase.OPEN}),  # the backlog is gone, or down again
}


class Mode(StrEnum):
    """What a paced lane is doing."""

    CLIMB = "climb"  # it raises its rate, or holds it
    LOOK = "look"  # failures were noticed: are they chance, or the endpoint's limit?
    TEST = "test"  # it sends a little slower: do the failures go away?
    SETTLE = "settle"  # nearly all failed: half as fast until the endpoint recovers


class PacerRule(Value):
    """How a lane is opened, probed, ramped up and held. The defaults suit any endpoint.

    A lane opens on `failures` in a row with no success for `silence` seconds. In `span` seconds it
    sends at most `least_probes` probes, or the share `allowance` of the waiting deliveries if that
    is more. The ramp starts at `first` a second, or at the share `head_start` of a remembered
    capacity. A pace that holds is raised by the share `creep` after `hold` seconds, or after up to
    `longest_hold` if that keeps failing. `probe` says how the probes become fewer after `span`.
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
    probe: ProbeRule

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
        probe: ProbeRule = PROBES,
    ) -> None:
        settle(self, "failures", checks.count("pacer.failures", failures))
        settle(self, "silence", checks.seconds("pacer.silence", silence))
        settle(self, "allowance", checks.share("pacer.allowance", allowance))
        # Some of them open the lane, and a few more probes notice the end of a short outage.
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
        settle(self, "probe", checks.one_of("pacer.probe", probe, ProbeRule))


class Seen(Value):
    """The answers since the last step.

    `passed` and `failed` count attempts at the present pace (`Pace.epoch`). `late` and `missed`
    count attempts that passed or failed but were sent at an earlier pace. `spared` counts failures
    that say nothing about the pace. `took` is the average latency of the answers. `retry_after` is
    the longest wait that the endpoint asked for.
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
        """How many answers count for or against the present pace."""
        return self.passed + self.failed


class Sample(Value):
    """How many attempts at one pace passed and failed."""

    passed: int = 0
    failed: int = 0

    @property
    def answers(self) -> int:
        """The number of answers."""
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
        share = most / 2 / self.answers
        return Sample(int(share * self.passed), int(share * self.failed))


class Pace(Value):
    """All that a lane knows of its endpoint, as one frozen value.

    What may be sent: `rate` is the number of sends a second, since `since`. The lane is paced since
    `begun`, or down since `down_since`, with `probes` sent so far and the next one at `probe_at`.
    The endpoint asked to receive nothing before `held_until`; the sender has to observe that.

    What is known: `goal` is the estimate of the endpoint's limit (None: unknown), and `capacity`
    the same, kept for the next outage. `baseline` is the share of failures that does not depend on
    the pace, learned from `judged` answers. It cannot exceed `most` unless a test shows more.
    `failed_at` is the last pace that was too fast. `latency` is the recent latency of answers, and
    `usual` the usual latency of successes.

    What comes next: `climb` is the share of the next step up, `hold` how long to wait before the
    pace that failed is tried again. In doubt, `tried` is the pace that caused failures, `suspect`
    its answers, `found` the possible limit, and `sample` the answers to the present pace since it
    was set.

    What was seen: `answered` counts the answers to the present pace, whose number is `epoch`.
    `flow` counts the answers to any pace: those that passed, and all. `history` are the latest
    answers while the lane was closed. `top` is the highest number that passed in a second, as of
    `topped_at`. `run` successes and `streak` failures came in a row; the last success was at
    `passed_at`.
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
        """Return how many passed and failed at this pace, in the last second or a part of it."""
        passed, failed = self.answered.sums(slot_of(now, SECOND), slices, 2)
        return passed, failed

    def flowed(self, now: float) -> tuple[int, int]:
        """Return how many passed at any pace in the last second, and how many were answered."""
        passed, answers = self.flow.sums(slot_of(now, SECOND), SLICES, 2)
        return passed, answers

    def accepted(self, now: float) -> float:
        """Return how many attempts a second passed in the last moment."""
        return self.flow.sums(slot_of(now, SECOND), MOMENT, 2)[0] * SLICES / MOMENT

    def offered(self, now: float) -> float:
        """Return how many attempts a second were answered, passed or failed, in the last second."""
        answered = self.flowed(now)[1]
        return answered / max(0.1, min(SECOND, now - self.begun - self.latency))

    def best(self, now: float) -> float:
        """Return the highest number that passed in a second, fading with time."""
        fading = max(FADING, 20 / max(self.rate, 1.0))  # a slow lane needs more time to judge
        return self.top * math.exp(-max(0.0, now - self.topped_at) / fading)

    def busy(self, now: float) -> bool:
        """Return whether sends came near the rate: otherwise the answers do not test the rate."""
        slot = slot_of(now, SECOND)
        second = self.flow.sums(slot, SLICES, 2)[1]
        moment = self.flow.sums(slot, MOMENT, 2)[1] * SLICES / MOMENT
        return max(second, moment) >= 0.5 * self.rate

    def room(self) -> int:
        """Return how many attempts may be in flight: they must not pile up at a slow endpoint."""
        return max(4, math.ceil(2 * self.rate * max(self.latency, 0.05)))


def counted(pace: Pace, seen: Seen, now: float) -> Pace:
    """Return the state with these answers counted."""
    passed, failed = seen.passed + seen.late, seen.failed + seen.missed
    slot = slot_of(now, SECOND)
    if seen.spared:
        served = round((1 - pace.baseline) * seen.spared)  # `cut` divides by the same share
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
        usual=pace.usual if failed else _average_latency(pace, seen.took, now),
    )


def _history(pace: Pace, seen: Seen) -> Sample:
    """Return the latest answers while the lane was closed.

    Failures count only once an attempt passed after them, so those of an outage never count.
    """
    if pace.phase is not Phase.CLOSED or not (seen.passed or seen.late):
        return pace.history
    return pace.history.add(seen.passed, pace.streak + seen.failed).faded(REMEMBERED)


def _average_latency(pace: Pace, took: float, now: float) -> float:
    """Return the average latency of successes over a while.

    Failures do not count: they may be quick because the endpoint did no work.
    """
    if pace.usual == math.inf:
        return took
    return pace.usual + (took - pace.usual) * min(1.0, max(0.0, now - pace.topped_at) / SLOWLY)


def _above(field: str, value: float, least: float) -> float:
    return checks.number(field, value, f"a number above {least:g}", lambda number: number > least)
