"""Tasks that somebody asked for: done in pieces, or counted, while all else goes on."""

import logging
from collections import Counter
from collections.abc import Collection

from tarry.errors import StoreUnavailable
from tarry.service.dispatch.desk import Desk
from tarry.service.dispatch.muster import Muster
from tarry.service.dispatch.shards import Shards
from tarry.service.dispatch.statistics import counted
from tarry.service.model.application import shard_of
from tarry.service.model.lane import Lease
from tarry.service.model.task import IN_PIECES, STATISTICS, Task, Work
from tarry.service.store.contract import Store

CHUNK = 500
"""How many rows are changed in one commit."""
TRIES = 5
"""How often a task that cannot be done is tried, about a second apart."""

log = logging.getLogger("tarry.service")


class Tasks:
    """Does the tasks of the shards that are owned, the oldest first.

    One that cannot be done is given up in the end, or those behind it would wait for ever. A
    database that is away is no task's fault.
    """

    def __init__(self, store: Store, desk: Desk, shards: Shards, muster: Muster) -> None:
        self._store, self._desk, self._shards, self._muster = store, desk, shards, muster
        self._troubles: Counter[str] = Counter()
        """How often each could not be done."""

    async def count_all(self) -> None:
        """Count what was asked for. It may take long, so nothing else waits for it."""
        while await self.advance_once(STATISTICS) is not None:
            pass

    async def advance(self) -> bool:
        """Do a piece of what changes queues, and let the lane know; whether there was one."""
        task = await self.advance_once(IN_PIECES)
        if task is not None and task.lane:
            await self._muster.take_up([task.lane])
            lane = self._shards.lane(task.application, task.lane)
            if lane is not None and task.work is not Work.DISCARD:
                lane.replay(self._desk.now())  # what was replayed goes at a pace
        return task is not None

    async def advance_once(self, works: Collection[Work]) -> Task | None:
        """Do a piece of the oldest task; the task, or None if there is nothing that can be done."""
        task = await self._store.task(self._shards.numbers, works)
        held = None if task is None else self._shards.held.get(shard_of(task.application))
        if task is None or held is None:
            return None
        try:
            advanced = await self._done(task, held.lease)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, the dispatcher and other tasks go on
            self._troubles[task.id] += 1
            log.warning("task %s (%s) cannot be done: %r", task.id, task.work, error)
            if self._troubles[task.id] < TRIES:
                return None
            why, now = str(error) or type(error).__name__, self._desk.now()
            advanced = await self._store.give_up(task, why, now=now, lease=held.lease)
        self._troubles.pop(task.id, None)
        return None if advanced == task else advanced

    async def _done(self, task: Task, lease: Lease) -> Task:
        """The task, a piece further."""
        if task.work in STATISTICS:
            data = await counted(self._store, task)
            return await self._store.finish(task, data, now=self._desk.now(), lease=lease)
        return await self._store.advance(task, now=self._desk.now(), limit=CHUNK, lease=lease)
