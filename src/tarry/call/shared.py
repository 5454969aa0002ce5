"""What every guard is: named, shared by many callers, safe across threads, copies and forks."""

import os
from threading import RLock
from weakref import WeakSet

_guards: "WeakSet[Guard]" = WeakSet()


class Guard:
    """A rule with a history that many calls share.

    The lock is held while the history takes one pure step, never over a caller's code. A copy, and
    what comes out of a pickle, has the rule but starts without the history: that belongs to the
    process it happened in.
    """

    __slots__ = ("__weakref__", "_lock", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        # In the midst of a step the collector may end a forgotten coroutine, or a signal come in,
        # and that may be a call with the same guard: the same thread must get the lock again.
        self._lock = RLock()
        _guards.add(self)

    def unlock(self) -> None:
        """After a fork: another thread of the parent may have held the lock, and is not here."""
        self._lock = RLock()


def _unlock_all() -> None:
    for guard in _guards:
        guard.unlock()


if hasattr(os, "register_at_fork"):  # not where there is no fork
    os.register_at_fork(after_in_child=_unlock_all)
