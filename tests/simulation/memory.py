"""The memory store as the store of a history, with a standby that can take its place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy

from tarry.service.store.memory.store import MemoryStore

KEPT = ("clock", "nudges")
"""The attributes that belong to the process and not to the data."""


class MemoryBase:
    """A store in memory."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.store = MemoryStore(clock=clock)
        self.data = self.store._data  # noqa: SLF001  for copies of everything, and for planted bugs

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Prepare nothing."""
        yield

    def forget(self, worker: str) -> None:
        """Do nothing: the leases of a killed worker end by themselves."""

    def snapshot(self) -> Callable[[], None]:
        """Take a snapshot of the store; return a function that restores it."""
        data = vars(self.data)
        held = deepcopy({name: value for name, value in data.items() if name not in KEPT})

        def bring_back() -> None:
            data.update(held)

        return bring_back

    def restart(self) -> None:
        """Restart the server: only its data stays."""

    def close(self) -> None:
        """Do nothing: nothing is left behind."""
