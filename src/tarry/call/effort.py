"""An effort: one call with all its attempts. It decides, and leaves all I/O to the drivers.

The drivers in `sync`, `aio` and `block` make the attempts and the waits. After each attempt they
ask the effort what comes next. An effort shares no state, so calls cannot disturb each other.
"""

import math
from types import CoroutineType
from typing import TYPE_CHECKING

from tarry.call.plan import Plan
from tarry.call.scope import (
    ATTEMPT,
    ENDED,
    Scope,
    disabled,
    hindrance,
    inherited_deadline,
    inside,
    left_of,
)
from tarry.call.shape import refuse_coroutine
from tarry.call.world import world
from tarry.core.breaker import IGNORED, PASSED, Verdict, verdict_on
from tarry.core.decide import decide
from tarry.core.outcome import (
    Again,
    Decision,
    Failure,
    GiveUp,
    Kind,
    Outcome,
    Pending,
    Success,
    Why,
)
from tarry.errors import AttemptTimedOut, CircuitOpen, GaveUp
from tarry.observe.events import Attempted, Event, GivenUp, Retrying, Succeeded
from tarry.observe.stream import emit, stream

if TYPE_CHECKING:
    from tarry.call.plan import Circuit, Discard

SUCCESS, PENDING, FAILURE = Success(), Pending(), Failure()
NOT_NAMED = Failure(Kind.PERMANENT)
CUT_OFF = Failure(Kind.TIMEOUT)
NO_TICKET = 0
NOTE = "tarry: "


class Effort:
    """One call from its first attempt to its end; `decide` reads its past from here."""

    __slots__ = (
        "_began_at",
        "_error",
        "_outer",
        "_paid",
        "_plan",
        "_result",
        "_ticket",
        "attempts",
        "deadline_at",
        "delay",
        "memory",
        "scope",
        "started_at",
    )

    def __init__(  # noqa: PLR0913, PLR0917  an attempt that was made without it is handed over
        self,
        plan: Plan,
        outer: Scope | None,
        started_at: float,
        attempts: int = 0,
        scope: Scope | None = None,
        ticket: int = NO_TICKET,
    ) -> None:
        self._plan = plan
        self._outer = outer
        self._began_at = started_at
        self._ticket = ticket
        self._paid = False
        self._error: Exception | None = None
        self._result: object = None
        self.attempts = attempts
        self.started_at = started_at
        if outer is None:
            self.deadline_at = math.inf
            self.scope = scope or [started_at + plan.within, plan.first]
        else:
            self.deadline_at = inherited_deadline(outer)
            deadline, nested = started_at + plan.within, plan.policy.nested
            self.scope = inside(outer, deadline, plan.first, nested=nested)
        self.memory: float | None = None
        self.delay = 0.0

    def begin(self) -> None:
        """Begin an attempt, unless the breaker refuses it."""
        plan = self._plan
        if self.attempts:
            if plan.breaker is not None:
                self._return_to(plan.breaker)
            self.attempts += 1
            self.scope[ATTEMPT] = self.attempts
            if not plan.light or stream.listeners:
                self._began_at = world.clock()
            return
        if plan.breaker is not None:
            try:
                self._ticket = plan.breaker.enter(plan.hooks)
            except CircuitOpen as refusal:
                refused = GiveUp(Why.CIRCUIT, refusal.retry_in)
                self._tell(self._given_up(refused, refusal, world.clock()))
                raise
        self.attempts = 1
        if plan.budget is not None:
            plan.budget.call(self._began_at)

    def after_error(self, error: Exception) -> bool:
        """Return whether another attempt follows, after `delay`; if not, the driver raises it."""
        plan, now = self._plan, world.clock()
        outcome = plan.judge(error) or self._unnamed(error)
        if self._ticket:
            self._report(verdict_on(outcome))
        decision = decide(plan.policy, self, outcome, now=now, draw=world.draw)
        if not plan.light or self._outer is not None or stream.listeners or disabled.everywhere:
            decision = self._decided_with_guards(decision, outcome, error, now)
        if isinstance(decision, Again):
            self.delay, self.memory = decision.delay, decision.memory
            return True
        if isinstance(decision, GiveUp) and (self.attempts > 1 or self._meant_to_retry(outcome)):
            self._note(error, decision, now)
        return False

    def after_result(self, result: object) -> bool:
        """Return whether the result is accepted; if not, another attempt follows, after `delay`."""
        plan = self._plan
        if result.__class__ is CoroutineType:
            refuse_coroutine(plan.name, result)
        if not plan.takes_any_result:
            outcome = self._judge_result(result)
            if outcome is not SUCCESS:
                return self._after_unwanted(result, outcome)
        if self._ticket:
            self._report(PASSED)
        if plan.budget is not None:
            plan.budget.succeed(retried=self._paid)
        if stream.listeners or plan.hooks:
            self._tell_success()
        return True

    def close(self) -> None:
        """End the call, whatever its result is.

        An attempt that has not reported was cancelled, or the program is ending: that says nothing
        about the called service. The last error is dropped, because its traceback holds frames that
        hold this effort.
        """
        self.scope[ATTEMPT] = ENDED
        if self._ticket:
            self._report(IGNORED)
        self._error = self._result = None

    @property
    def discard(self) -> "Discard | None":
        """The function that closes a rejected result before the wait, if there is one."""
        return self._plan.discard

    @property
    def remaining(self) -> float | None:
        """Seconds left for the call; None is no limit."""
        return left_of(self.scope)

    def _after_unwanted(self, result: object, outcome: Outcome) -> bool:
        """Decide after a result that is to be retried; return True if it is to be returned."""
        now = world.clock()
        if self._ticket:
            self._report(verdict_on(outcome))
        decision = decide(self._plan.policy, self, outcome, now=now, draw=world.draw)
        decision = self._decided_with_guards(decision, outcome, None, now)
        if isinstance(decision, GiveUp):
            if self._plan.returns_last:
                return True
            raise self._gave_up(decision, result, now)
        if isinstance(decision, Again):
            self.delay, self.memory = decision.delay, decision.memory
        self._result = result
        return False

    def _return_to(self, breaker: "Circuit") -> None:
        """Ask the breaker again; if it has opened meanwhile, raise the last failure."""
        refused: GiveUp | None = None
        try:
            self._ticket = breaker.enter(self._plan.hooks)
        except CircuitOpen as refusal:
            refused = GiveUp(Why.CIRCUIT, refusal.retry_in)
            if self._error is None and self._plan.returns_last:
                # The last result was discarded before the wait, so there is none to return.
                self._tell(self._given_up(refused, None, world.clock()))
                raise
        error, self._error = self._error, None
        if refused is None:
            return
        now = world.clock()
        self._tell(self._given_up(refused, error, now))
        if error is None:
            raise self._gave_up(refused, self._result, now)
        self._note(error, refused, now)
        try:
            raise error
        finally:
            del error  # this frame is in its traceback now

    def _unnamed(self, error: Exception) -> Failure:
        """Return the failure of an unnamed exception: only our own timeout is retried."""
        own = isinstance(error, AttemptTimedOut) and error.plan is self._plan
        return CUT_OFF if own else NOT_NAMED

    def _meant_to_retry(self, outcome: Failure) -> bool:
        """Return whether a note has to say why there was no retry."""
        return outcome is not NOT_NAMED and self._plan.policy.attempts != 1

    def _judge_result(self, result: object) -> Outcome:
        """Return a result's outcome: success, failure, or not yet."""
        plan = self._plan
        if plan.on_result is not None and (answer := plan.on_result(result)):
            return answer if isinstance(answer, Failure) else FAILURE
        if plan.until is not None and not plan.until(result):
            return PENDING
        return SUCCESS

    def _report(self, verdict: Verdict) -> None:
        """Report the attempt to the breaker; a ticket is valid for one report."""
        ticket, self._ticket = self._ticket, NO_TICKET
        if self._plan.breaker is not None:
            self._plan.breaker.leave(ticket, verdict, self._began_at, self._plan.hooks)

    def _decided_with_guards(
        self, decision: Decision, outcome: Outcome, error: Exception | None, now: float
    ) -> Decision:
        """Return the decision after the guards were asked, and notify the listeners."""
        if isinstance(decision, Again):
            decision = self._guarded(decision, outcome, now)
            if self._plan.breaker is not None:
                self._error = error
        if stream.listeners or self._plan.hooks:
            self._report_failure(decision, outcome, error, now)
        return decision

    def _guarded(self, again: Again, outcome: Outcome, now: float) -> Again | GiveUp:
        """Return the guards' decision on another attempt. A poll does not use the budget."""
        plan = self._plan
        hindered = hindrance(self._outer, nested=plan.policy.nested)
        if hindered is not None:
            return GiveUp(hindered)
        if plan.breaker is not None:
            retry_at = plan.breaker.retry_at
            if retry_at is not None and now + again.delay < retry_at:
                # The breaker would refuse it after the wait, so give up now.
                return GiveUp(Why.CIRCUIT, retry_at - now)
        if plan.budget is None or outcome is PENDING:
            return again
        if not plan.budget.take(now):
            return GiveUp(Why.BUDGET)
        self._paid = True
        return again

    def _gave_up(self, decision: GiveUp, result: object, now: float) -> GaveUp:
        """Return the error for a call that ends without an acceptable result."""
        return GaveUp(
            decision.why,
            attempts=self.attempts,
            elapsed=now - self.started_at,
            last=result,
            retry_after=decision.retry_after,
        )

    def _note(self, error: Exception, decision: GiveUp, now: float) -> None:
        """Add a note on the attempts to the error; replace an earlier note of ours."""
        if decision.why is Why.NESTED:  # the outer retry adds the note
            return
        tries = "attempt" if self.attempts == 1 else "attempts"
        elapsed = now - self.started_at
        note = f"{NOTE}gave up after {self.attempts} {tries} in {elapsed:.3g} s: {decision.why}"
        if decision.retry_after is not None and decision.why is not Why.CIRCUIT:
            note += f" (it asked for {decision.retry_after:.6g} s)"
        try:
            if hasattr(error, "__notes__"):
                error.__notes__[:] = [
                    earlier for earlier in error.__notes__ if not _is_ours(earlier)
                ]
            error.add_note(note)
        except Exception:  # noqa: BLE001, S110  a courtesy: an error that takes no note comes out as it is
            pass

    def _tell_success(self) -> None:
        name, now = self._plan.name, world.clock()
        self._tell(Attempted(name, self.attempts, now - self._began_at, SUCCESS, None))
        self._tell(Succeeded(name, self.attempts, now - self.started_at))

    def _report_failure(
        self, decision: Decision, outcome: Outcome, error: Exception | None, now: float
    ) -> None:
        """Report an attempt that failed, and what follows, to the listeners."""
        name, attempts = self._plan.name, self.attempts
        self._tell(Attempted(name, attempts, now - self._began_at, outcome, error))
        if isinstance(decision, Again):
            self._tell(Retrying(name, attempts, decision.delay, outcome, error))
        elif isinstance(decision, GiveUp):
            self._tell(self._given_up(decision, error, now))

    def _given_up(self, decision: GiveUp, error: Exception | None, now: float) -> GivenUp:
        elapsed, why, retry_after = now - self.started_at, decision.why, decision.retry_after
        return GivenUp(self._plan.name, self.attempts, elapsed, why, retry_after, error)

    def _tell(self, event: Event) -> None:
        emit(event, self._plan.hooks)


def _is_ours(note: object) -> bool:
    return str(note).startswith(NOTE)
