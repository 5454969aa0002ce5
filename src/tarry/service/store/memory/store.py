"""The complete memory store."""

import time
from collections.abc import Callable

from tarry.service.store.memory.catalogue import MemoryCatalogue
from tarry.service.store.memory.data import Data
from tarry.service.store.memory.data_keys import MemoryDataKeys
from tarry.service.store.memory.history import MemoryHistory
from tarry.service.store.memory.ingest import MemoryIngest
from tarry.service.store.memory.leases import MemoryLeases
from tarry.service.store.memory.listing import MemoryListing
from tarry.service.store.memory.queue import MemoryQueue
from tarry.service.store.memory.registry import MemoryRegistry
from tarry.service.store.memory.tasks import MemoryTasks
from tarry.service.store.memory.upkeep import MemoryUpkeep


class MemoryStore(
    MemoryIngest,
    MemoryLeases,
    MemoryQueue,
    MemoryTasks,
    MemoryCatalogue,
    MemoryHistory,
    MemoryListing,
    MemoryRegistry,
    MemoryDataKeys,
    MemoryUpkeep,
):
    """Keeps everything in this process. `clock` gives the time for leases.

    `most_waiting` is the limit of applications that have none of their own.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, *, most_waiting: int | None = None
    ) -> None:
        self._data = Data(clock)
        self._most_waiting = most_waiting
