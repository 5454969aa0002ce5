"""Retry a block of code: a loop over attempts, each entered with `with` or `async with`."""

from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from tarry.call.aio import cut_off
from tarry.call.effort import Effort
from tarry.call.plan import Plan
from tarry.call.scope import current
from tarry.call.world import world
from tarry.errors import PolicyError, TarryError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

Value = TypeVar("Value")


class Attempts:
    """Attempts to loop over with `for` or `async for`; every loop is a call of its own."""

    __slots__ = ("_plan",)

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __iter__(self) -> "Loop":
        return Loop(Attempt(self._plan))

    def __aiter__(self) -> "Loop":
        return Loop(Attempt(self._plan))


class Loop:
    """One call in block form: it yields its attempt until the call is over."""

    __slots__ = ("_attempt",)

    def __init__(self, attempt: "Attempt") -> None:
        self._attempt = attempt

    def __del__(self) -> None:
        # Left by `break`: a probe goes back to its breaker, and the last error is let go.
        if not self._attempt.over:
            self._attempt.end()

    def __iter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    def __next__(self) -> "Attempt":
        if self._attempt.over:
            raise StopIteration
        try:
            if self._attempt.delay:
                world.sleep(self._attempt.delay)
            return self._attempt.begin()
        except BaseException:
            self._attempt.end()
            raise

    async def __anext__(self) -> "Attempt":
        if self._attempt.over:
            raise StopAsyncIteration
        try:
            if self._attempt.delay:
                await world.asleep(self._attempt.delay)
            return self._attempt.begin()
        except BaseException:
            self._attempt.end()
            raise


class State(Enum):
    """Where an attempt stands."""

    NEW = "new"
    BEGUN = "begun"
    ENTERED = "entered"
    FAILED = "failed"
    OVER = "over"


class Attempt:
    """The attempt at work, to be entered with `with` or `async with`.

    After a failure the loop waits; only `async with` waits at the end of its block already, so
    that a plain `for` around it does not hold up the event loop.
    """

    __slots__ = ("_cut", "_effort", "_outer", "_plan", "_result", "_state", "delay")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._outer = current.get()
        self._effort = Effort(plan, self._outer, world.clock())
        self._state = State.NEW
        self._cut: AbstractAsyncContextManager[None] | None = None
        self._result: object = None
        self.delay = 0.0

    @property
    def number(self) -> int:
        """Which attempt it is, counted from 1."""
        return self._effort.attempts

    @property
    def remaining(self) -> float | None:
        """Seconds left for the whole call; None is no limit."""
        return self._effort.remaining

    @property
    def over(self) -> bool:
        """Whether no further attempt follows."""
        return self._state is State.OVER

    def result(self, value: Value) -> Value:
        """Hand in the block's result, for `until` and `on_result` to judge."""
        self._result = value
        return value

    def begin(self) -> Self:
        """Begin the first attempt, or the next one after the wait."""
        if self._state in (State.BEGUN, State.ENTERED):
            raise TarryError("the attempt was not made: write `with attempt:` inside the loop")
        self._effort.begin()
        self._state = State.BEGUN
        self.delay = 0.0
        return self

    def end(self) -> None:
        """End the call, whatever its result is."""
        self._state = State.OVER
        self._effort.close()

    def __enter__(self) -> Self:
        if (limit := self._plan.policy.attempt_timeout) is not None:
            self.end()
            wanted = "None for a plain `with`, which cannot be cut off; use `async with`"
            raise PolicyError("attempt_timeout", limit, wanted)
        self._enter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        return self._exit(error)

    async def __aenter__(self) -> Self:
        self._enter()
        if self._plan.policy.attempt_timeout is not None:
            self._cut = cut_off(self._plan)
            try:
                await self._cut.__aenter__()
            except BaseException:
                self._leave_scope()
                self.end()
                raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        try:
            if self._cut is not None:
                await self._cut.__aexit__(kind, error, trace)
        except BaseException as cut:  # the cut-off may change what comes out of the block
            handled = self._exit(cut)
            if not handled:
                raise
        else:
            handled = self._exit(error)
        if self.delay:
            try:
                await world.asleep(self.delay)
            except BaseException:
                self.end()
                raise
            self.delay = 0.0
        return handled

    def _enter(self) -> None:
        """Begin an attempt, and set its scope."""
        if self._state is not State.BEGUN:
            raise TarryError("an attempt is entered once: the loop gives the next one")
        self._state = State.ENTERED
        self._result = None
        if self._plan.scoped:
            current.set(self._effort.scope)

    def _exit(self, error: BaseException | None) -> bool:
        """Process the outcome; return True if there was an error and another attempt follows."""
        self._leave_scope()
        again = False
        try:
            if error is None:
                again = not self._effort.after_result(self._result)
            elif isinstance(error, Exception):
                again = self._effort.after_error(error)
        finally:
            if not again:
                self.end()
        if again:
            self._state = State.FAILED
            self.delay = self._effort.delay
        return again and error is not None

    def _leave_scope(self) -> None:
        """Set the scope back to that of the call around."""
        # Set back, not reset by token: a block may end in another context than it began in, and
        # then there may be another call at work, whose scope stays.
        if current.get() is self._effort.scope:
            current.set(self._outer)
