"""The base of all guards: named, shared by many callers, safe with threads, copies and forks."""

import os
from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from tarry.core.value import Value

State = TypeVar("State")

_guards: "WeakSet[Guard[Any]]" = WeakSet()


class Guard(Generic[State]):
    """A rule with a history that many calls share.

    The lock is held while the history takes one pure step, never while a caller's code runs. A copy
    or an unpickled guard has the rule but starts without the history, which belongs to the process
    in which it happened.
    """

    __slots__ = ("__weakref__", "_aside", "_lock", "_state", "name")

    rule: Value

    def __init__(self, name: str, state: State) -> None:
        self.name = name
        self._state = state
        self._aside = 0  # calls that are not in the state yet: most just add one here
        # During a step the garbage collector may end a forgotten coroutine, or a signal may arrive.
        # Either may use this guard, so the same thread must be able to take the lock again.
        self._lock = RLock()
        _guards.add(self)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), **self._settings()), ()

    def _settings(self) -> dict[str, Any]:
        """Return the arguments that create another one like it."""
        rule = {field: getattr(self.rule, field) for field in type(self.rule).__fields__}
        return {**rule, "name": self.name}

    def _take_step(self, step: Callable[[State], State | None]) -> tuple[State, State]:
        """Take one step; return the states before and after it, equal if the step returned None.

        If the same thread used this guard during the step, that is kept, and the step is repeated
        from the new state.
        """
        with self._lock:
            while True:
                state, aside = self._state, self._aside
                before = self._with_counted_aside(state, aside)
                after = step(before)
                after = before if after is None else after
                if self._state is state and self._aside == aside:
                    self._state, self._aside = after, 0
                    return before, after

    def _with_counted_aside(self, state: State, aside: int) -> State:  # noqa: ARG002  for guards that count
        """Return the state with the calls that were counted aside."""
        return state

    def unlock(self) -> None:
        """Replace the lock after a fork: a thread of the parent may have held it."""
        self._lock = RLock()


def _unlock_all() -> None:
    for guard in _guards:
        guard.unlock()


if hasattr(os, "register_at_fork"):  # not where there is no fork
    os.register_at_fork(after_in_child=_unlock_all)
