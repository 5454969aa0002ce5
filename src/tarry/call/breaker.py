"""A circuit breaker to share between functions: the rule of `core.breaker` with a history."""

import math
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from tarry.call.matching import Judge, On, judge_of
from tarry.call.plan import plan_of
from tarry.call.shared import Guard
from tarry.call.world import world
from tarry.call.wrap import wrap
from tarry.core import breaker as core
from tarry.core.breaker import (
    IGNORED,
    PASSED,
    BreakerRule,
    BreakerState,
    Phase,
    Verdict,
    verdict_on,
)
from tarry.core.checks import Seconds
from tarry.core.policy import Policy
from tarry.core.window import slot_end
from tarry.errors import CircuitOpen
from tarry.observe.events import BreakerMoved
from tarry.observe.stream import Listener, emit

Params = ParamSpec("Params")
Returned = TypeVar("Returned")

CALL_ONCE = Policy(attempts=1, within=None)


class Breaker(Guard[BreakerState]):
    """Stops calls to a service that keeps failing; a few probes show when it works again.

    Opens on `failures` in a row; with `rate`, when that share of at least `minimum` calls in the
    last `window` seconds failed; with `slow`, when a share of `slow_rate` took longer than that.
    While open, calls raise CircuitOpen. After `open_for` seconds (up to a share of `jitter` less,
    so that not all processes knock at once) `probes` calls are let through; if most pass it
    closes, else it opens again, `growth` times as long, `longest` at most. A probe that does not
    report within `lease` seconds is given up for lost, and another may go.

    Hand it to `retry(breaker=...)`, where `on=` says what a failure is, or use it alone: as a
    decorator or as `with breaker.calling():`; then `on` here says which exceptions are failures.
    """

    __slots__ = (
        "_in_a_row",
        "_judge",
        "_on",
        "_slot",
        "_slot_ends_at",
        "_slow",
        "rule",
    )

    rule: BreakerRule

    def __init__(  # noqa: PLR0913  one argument a setting
        self,
        failures: int | None = 5,
        open_for: Seconds = 30.0,
        *,
        rate: float | None = None,
        minimum: int = 20,
        window: Seconds = 10.0,
        slow: Seconds | None = None,
        slow_rate: float = 0.5,
        growth: float = 1.0,
        longest: Seconds | None = None,
        jitter: float = 0.1,
        probes: int = 1,
        lease: Seconds | None = None,
        on: On = Exception,
        name: str = "breaker",
    ) -> None:
        super().__init__(name, BreakerState())
        self.rule = BreakerRule(
            failures=failures,
            open_for=open_for,
            rate=rate,
            minimum=minimum,
            window=window,
            slow=slow,
            slow_rate=slow_rate,
            growth=growth,
            longest=longest,
            jitter=jitter,
            probes=probes,
            lease=lease,
        )
        self._in_a_row = not self.rule.windowed
        self._slow = math.inf if self.rule.slow is None else self.rule.slow
        self._on = on
        self._judge = judge_of(on)
        self._slot = 0  # of the calls counted aside: those that passed
        self._slot_ends_at = 0.0

    def __repr__(self) -> str:
        return f"<Breaker {self.name!r}: {self.phase}>"

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "on": self._on}

    def __call__(self, function: Callable[Params, Returned]) -> Callable[Params, Returned]:
        """Guard a function, coroutine or generator: a decorator, without any retrying."""
        return wrap(plan_of(CALL_ONCE, on=self._on, breaker=self), function)

    def calling(self) -> "Calling":
        """Guard a block: ``with breaker.calling(): ...``."""
        return Calling(self, self._judge)

    @property
    def phase(self) -> Phase:
        """Closed, open or half-open."""
        return self._state.phase

    @property
    def retry_at(self) -> float | None:
        """When a call may be let through again (monotonic clock); None while it is closed."""
        return self._retry_at(self._state)

    def enter(self, hooks: tuple[Listener, ...] = ()) -> int:
        """Return a ticket for one call, to report its result with; raise CircuitOpen if refused."""
        state = self._state  # a frozen value: one read without the lock is enough
        if state.ticket:  # closed
            return state.ticket
        now = world.clock()
        if now < state.open_until:  # open: nothing can change before
            raise CircuitOpen(self.name, state.open_until, state.open_until - now)
        return self._admit(now, hooks)

    def leave(
        self, ticket: int, verdict: Verdict, began_at: float, hooks: tuple[Listener, ...] = ()
    ) -> None:
        """Report how the call with this ticket went, and when it began."""
        passed, state = verdict is PASSED, self._state
        if self._in_a_row and passed and ticket == state.ticket and not state.streak:
            return
        now = world.clock()
        took = now - began_at
        with self._lock:
            if now >= self._slot_ends_at:
                self._begin_slot(now)
            state = self._state
            if passed and ticket == state.ticket and not state.streak and took <= self._slow:
                self._aside += 1
                return
        report = partial(core.record, self.rule, ticket=ticket, verdict=verdict)
        self._move(partial(report, took=took, now=now, draw=world.draw), hooks)

    def trip(self) -> None:
        """Open it by hand."""

        def opened(state: BreakerState) -> BreakerState | None:
            if state.phase is Phase.OPEN:
                return None
            return core.opened(self.rule, state, now=world.clock(), draw=world.draw())

        self._move(opened)

    def reset(self) -> None:
        """Close it by hand and forget what happened."""
        self._move(core.closed)

    def _admit(self, now: float, hooks: tuple[Listener, ...]) -> int:
        """Let a call through and return its ticket; CircuitOpen if it is refused."""
        ticket: int | None = None

        def admit(state: BreakerState) -> BreakerState:
            nonlocal ticket
            state, ticket = core.admit(self.rule, state, now)
            return state

        after = self._move(admit, hooks)
        if ticket is None:
            retry_at = core.retry_at(self.rule, after)
            raise CircuitOpen(self.name, retry_at, max(0.0, retry_at - now))
        return ticket

    def _begin_slot(self, now: float) -> None:
        """Start the next slice of the window; the successes of the last one go into the state."""
        slot = self.rule.slot(now)
        ends_at = slot_end(slot, self.rule.window)
        self._take_step(lambda _: None)
        self._slot, self._slot_ends_at = slot, ends_at

    def _with_counted_aside(self, state: BreakerState, aside: int) -> BreakerState:
        return core.succeed(state, aside, self._slot) if aside else state

    def _move(
        self,
        step: Callable[[BreakerState], BreakerState | None],
        hooks: tuple[Listener, ...] = (),
    ) -> BreakerState:
        """Take one step; emit the event of a new phase afterwards, outside the lock."""
        before, after = self._take_step(step)
        if before.phase is not after.phase:
            retry_at = self._retry_at(after)
            emit(BreakerMoved(self.name, before.phase, after.phase, retry_at), hooks)
        return after

    def _retry_at(self, state: BreakerState) -> float | None:
        return None if state.phase is Phase.CLOSED else core.retry_at(self.rule, state)


class Calling:
    """One guarded block."""

    __slots__ = ("_began_at", "_breaker", "_judge", "_ticket")

    def __init__(self, breaker: Breaker, judge: Judge) -> None:
        self._breaker = breaker
        self._judge = judge

    def __enter__(self) -> Self:
        self._ticket = self._breaker.enter()
        self._began_at = world.clock()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        verdict = IGNORED  # also if `on` itself raises
        try:
            if error is None:
                verdict = PASSED
            elif isinstance(error, Exception) and (failure := self._judge(error)) is not None:
                verdict = verdict_on(failure)
        finally:
            self._breaker.leave(self._ticket, verdict, self._began_at)
