"""What every guard is: named, shared by many callers, safe across threads, copies and forks."""

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

    The lock is held while the history takes one pure step, never over a caller's code. A copy, and
    what comes out of a pickle, has the rule but starts without the history: that belongs to the
    process it happened in.
    """

    __slots__ = ("__weakref__", "_aside", "_lock", "_state", "name")

    rule: Value

    def __init__(self, name: str, state: State) -> None:
        self.name = name
        self._state = state
        self._aside = 0  # calls that are not in the state yet: most just add one here
        # In the midst of a step the collector may end a forgotten coroutine, or a signal come in,
        # and that may be a call with the same guard: the same thread must get the lock again.
        self._lock = RLock()
        _guards.add(self)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), **self._settings()), ()

    def _settings(self) -> dict[str, Any]:
        """What to make another one of."""
        rule = {field: getattr(self.rule, field) for field in type(self.rule).__fields__}
        return {**rule, "name": self.name}

    def _swap(self, step: Callable[[State], State | None]) -> tuple[State, State]:
        """Take one step: the state it was and the state it is; the same if the step gave None.

        What the same thread does with this guard in the midst of the step is done by then, and the
        step is taken anew from there.
        """
        with self._lock:
            while True:
                state, aside = self._state, self._aside
                before = self._whole(state, aside)
                after = step(before)
                after = before if after is None else after
                if self._state is state and self._aside == aside:
                    self._state, self._aside = after, 0
                    return before, after

    def _whole(self, state: State, aside: int) -> State:  # noqa: ARG002  for guards that count
        """The state with the calls counted aside."""
        return state

    def unlock(self) -> None:
        """After a fork: another thread of the parent may have held the lock, and is not here."""
        self._lock = RLock()


def _unlock_all() -> None:
    for guard in _guards:
        guard.unlock()


if hasattr(os, "register_at_fork"):  # not where there is no fork
    os.register_at_fork(after_in_child=_unlock_all)
