"""The memory store as the store of a history, with a standby that can take its place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy

from tarry.service.store.memory.store import MemoryStore

KEPT = ("clock", "nudges")
"""What belongs to the process and not to the data."""


class MemoryBase:
    """A store in memory."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.store = MemoryStore(clock=clock)
        self.data = self.store._data  # noqa: SLF001  for copies of everything, and for planted bugs

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Nothing has to be prepared."""
        yield

    def forget(self, worker: str) -> None:
        """The leases of a worker that was killed end by themselves."""

    def snapshot(self) -> Callable[[], None]:
        """Remember what the store holds; what is returned brings that back."""
        data = vars(self.data)
        held = deepcopy({name: value for name, value in data.items() if name not in KEPT})

        def bring_back() -> None:
            data.update(held)

        return bring_back

    def restart(self) -> None:
        """Nothing is left of a server that was restarted but what it holds."""

    def close(self) -> None:
        """Nothing is left behind."""
