"""The circuit breaker: its rule and its state are values, its life is a table.

    closed ──too many failures──▶ open ──its time is over──▶ half-open ──probes pass──▶ closed
                                   ▲                              │
                                   └────────probes fail───────────┘

By hand it can be closed from anywhere, and opened unless it is open.

Half-open lets a leased number of calls through as probes. A lease runs out, so a probe that
never reports back cannot keep the circuit shut.
"""

import math
from collections.abc import Callable, Mapping
from enum import StrEnum

from tarry.core import checks
from tarry.core.outcome import FINAL, Failure, Outcome
from tarry.core.value import Value, settle
from tarry.core.window import SLICES, Window, slot_of, span
from tarry.errors import PolicyError


class Phase(StrEnum):
    """Where a breaker stands."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


MOVES: Mapping[Phase, frozenset[Phase]] = {
    Phase.CLOSED: frozenset({Phase.OPEN, Phase.CLOSED}),  # closing by hand clears the counts
    Phase.OPEN: frozenset({Phase.HALF_OPEN, Phase.CLOSED}),
    Phase.HALF_OPEN: frozenset({Phase.CLOSED, Phase.OPEN}),
}


class Verdict(StrEnum):
    """What a call says about the service behind the breaker."""

    PASSED = "passed"
    FAILED = "failed"
    IGNORED = "ignored"


PASSED, FAILED, IGNORED = Verdict  # plain names: looking up a member of an enum takes its time


def verdict_on(outcome: Outcome) -> Verdict:
    """Return what an attempt says about the service behind the breaker.

    A final refusal of one request says nothing against the service.
    """
    if not isinstance(outcome, Failure):
        return PASSED
    return IGNORED if outcome.kind in FINAL else FAILED


class BreakerRule(Value):
    """When to open, for how long, and what closes it again.

    Opens on `failures` in a row, or when of at least `minimum` calls in the last `window` seconds
    a share of `rate` failed, or a share of `slow_rate` took longer than `slow` seconds (None turns
    a rule off). Stays open `open_for` seconds less up to a share of `jitter` by chance, `growth`
    times longer each time the probes fail, `longest` at most. Then `probes` calls are let
    through: when more than half of them pass it closes. A probe's lease is `lease` seconds.
    """

    failures: int | None
    open_for: float
    rate: float | None
    minimum: int
    window: float
    slow: float | None
    slow_rate: float
    growth: float
    longest: float
    jitter: float
    probes: int
    lease: float

    def __init__(  # noqa: PLR0913  one argument a field
        self,
        *,
        failures: int | None = 5,
        open_for: checks.Seconds = 30.0,
        rate: float | None = None,
        minimum: int = 20,
        window: checks.Seconds = 10.0,
        slow: checks.Seconds | None = None,
        slow_rate: float = 0.5,
        growth: float = 1.0,
        longest: checks.Seconds | None = None,
        jitter: float = 0.1,
        probes: int = 1,
        lease: checks.Seconds | None = None,
    ) -> None:
        settle(self, "open_for", checks.positive_seconds("breaker.open_for", open_for))
        row = None if failures is None else checks.count("breaker.failures", failures)
        settle(self, "failures", row)
        settle(self, "rate", None if rate is None else _some_share("breaker.rate", rate))
        settle(self, "minimum", checks.count("breaker.minimum", minimum))
        settle(self, "window", span("breaker.window", window))
        settle(
            self, "slow", None if slow is None else checks.positive_seconds("breaker.slow", slow)
        )
        settle(self, "slow_rate", _some_share("breaker.slow_rate", slow_rate))
        settle(self, "growth", checks.number("breaker.growth", growth, "1 or more", _not_below_one))
        settle(self, "jitter", checks.share("breaker.jitter", jitter))
        settle(self, "probes", checks.count("breaker.probes", probes))
        ends = self.open_for if lease is None else checks.positive_seconds("breaker.lease", lease)
        settle(self, "lease", ends)
        most = max(300.0, self.open_for) if longest is None else longest
        settle(self, "longest", checks.positive_seconds("breaker.longest", most))
        if self.longest < self.open_for:
            wanted = f"at least open_for ({self.open_for:g})"
            raise PolicyError("breaker.longest", longest, wanted)
        if self.failures is None and not self.windowed:
            raise PolicyError("breaker.failures", failures, "given, or else rate or slow")

    @property
    def windowed(self) -> bool:
        """Whether calls are counted over time, and not just failures in a row."""
        return self.rate is not None or self.slow is not None

    def slot(self, now: float) -> int:
        """The slice of the window that `now` falls in."""
        return slot_of(now, self.window)

    def open_time(self, openings: int, draw: float) -> float:
        """Return how long to stay open the n-th time in a row."""
        try:
            grown = self.open_for * self.growth ** (openings - 1)
        except OverflowError:
            grown = math.inf
        return min(self.longest, grown) * (1 - self.jitter * draw)


class Lease(Value):
    """The right to make one probe, until it expires."""

    ticket: int
    until: float


class BreakerState(Value):
    """The state of a breaker. `serial` numbers moves and leases: no ticket is ever given twice."""

    phase: Phase = Phase.CLOSED
    serial: int = 1
    ticket: int = 1
    streak: int = 0
    window: Window = Window()
    openings: int = 0
    open_until: float = 0.0
    leases: tuple[Lease, ...] = ()
    passed: int = 0
    failed: int = 0


def admit(rule: BreakerRule, state: BreakerState, now: float) -> tuple[BreakerState, int | None]:
    """Return the state and a ticket for the call; None if it is refused."""
    if state.phase is Phase.CLOSED:
        return state, state.ticket
    if state.phase is Phase.OPEN:
        if now < state.open_until:
            return state, None
        state = _move(state, Phase.HALF_OPEN)
    state = state.replace(leases=tuple(lease for lease in state.leases if lease.until > now))
    if _all_out(rule, state):
        return state, None
    lease = Lease(state.serial + 1, now + rule.lease)
    return state.replace(leases=(*state.leases, lease), serial=lease.ticket), lease.ticket


def retry_at(rule: BreakerRule, state: BreakerState) -> float:
    """Return when a call may go through at the earliest, if no probe reports before."""
    if not _all_out(rule, state):
        return state.open_until
    return min((lease.until for lease in state.leases), default=state.open_until)


def record(  # noqa: PLR0913  a state, a report, and time and chance as arguments
    rule: BreakerRule,
    state: BreakerState,
    ticket: int,
    verdict: Verdict,
    *,
    took: float,
    now: float,
    draw: Callable[[], float],
) -> BreakerState:
    """Return the state after the call with this ticket reported; a stale one changes nothing."""
    slow = rule.slow is not None and verdict is PASSED and took > rule.slow
    if state.phase is Phase.CLOSED and ticket == state.ticket:
        if verdict is IGNORED:
            return state
        bad = slow or verdict is FAILED
        counted = _counted(rule, state, failed=verdict is FAILED, slow=slow, now=now)
        trips = bad and _is_to_open(rule, counted, now)  # a call that went well opens nothing
        return opened(rule, counted, now=now, draw=draw()) if trips else counted
    if any(lease.ticket == ticket for lease in state.leases):
        return _probed(rule, state, ticket, FAILED if slow else verdict, now=now, draw=draw)
    return state


def succeed(state: BreakerState, calls: int, slot: int) -> BreakerState:
    """Return the closed state after `calls` successes in one slice of time."""
    return state.replace(streak=0, window=state.window.add(slot, (calls, 0, 0)))


def opened(rule: BreakerRule, state: BreakerState, *, now: float, draw: float) -> BreakerState:
    """Return the state, open from now on."""
    openings = state.openings + 1
    until = now + rule.open_time(openings, draw)
    return _move(state, Phase.OPEN).replace(openings=openings, open_until=until)


def closed(state: BreakerState) -> BreakerState:
    """Return the state, closed and without its history."""
    fresh = _move(state, Phase.CLOSED)
    return fresh.replace(ticket=fresh.serial, openings=0, open_until=0.0)


def _all_out(rule: BreakerRule, state: BreakerState) -> bool:
    """Return whether all probes were let through."""
    return len(state.leases) + state.passed + state.failed >= rule.probes


def _counted(
    rule: BreakerRule, state: BreakerState, *, failed: bool, slow: bool, now: float
) -> BreakerState:
    streak = state.streak + 1 if failed else 0
    if not rule.windowed:
        return state.replace(streak=streak)
    window = state.window.add(rule.slot(now), (1, int(failed), int(slow)))
    return state.replace(streak=streak, window=window)


def _is_to_open(rule: BreakerRule, state: BreakerState, now: float) -> bool:
    if rule.failures is not None and state.streak >= rule.failures:
        return True
    if not rule.windowed:
        return False
    calls, failed, slow = state.window.sums(rule.slot(now), SLICES, 3)
    if calls < rule.minimum:
        return False
    # Divided, because 0.07 * 100 is a little more than 7, but 7 / 100 is 0.07.
    failing = rule.rate is not None and failed / calls >= rule.rate
    return failing or (rule.slow is not None and slow / calls >= rule.slow_rate)


def _probed(  # noqa: PLR0913  a state, a report, and time and chance as arguments
    rule: BreakerRule,
    state: BreakerState,
    ticket: int,
    verdict: Verdict,
    *,
    now: float,
    draw: Callable[[], float],
) -> BreakerState:
    passed = state.passed + (verdict is PASSED)
    failed = state.failed + (verdict is FAILED)
    leases = tuple(lease for lease in state.leases if lease.ticket != ticket)
    if passed * 2 > rule.probes:
        return closed(state)
    if failed * 2 >= rule.probes:
        return opened(rule, state, now=now, draw=draw())
    return state.replace(leases=leases, passed=passed, failed=failed)


def _move(state: BreakerState, phase: Phase) -> BreakerState:
    """Return the state in another phase, without the counts of the old one."""
    if phase not in MOVES[state.phase]:
        raise ValueError(f"a breaker does not move from {state.phase} to {phase}")
    return state.replace(
        phase=phase,
        serial=state.serial + 1,
        ticket=0,
        streak=0,
        window=Window(),
        leases=(),
        passed=0,
        failed=0,
    )


def _some_share(field: str, value: float) -> float:
    return checks.number(field, value, "a number above 0, at most 1", lambda part: 0 < part <= 1)


def _not_below_one(number: float) -> bool:
    return number >= 1
