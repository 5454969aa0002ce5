"""Counts the statistics that users asked for, for all environments side by side.

A count may take minutes. All counts together send one query at a time to the store, and the
environments take turns: a small count does not wait for a large one of another environment.
"""

import asyncio

from tarry.service.dispatch.context import Context
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.dispatch.upkeep.statistics import count_statistics
from tarry.service.dispatch.upkeep.tasks import TaskTrials, TaskTurns
from tarry.service.model.lane import Lease
from tarry.service.model.task import STATISTICS, Task, Tenant
from tarry.service.store.contract import Store

MOST_QUEUED_COUNTS = 16
"""Environments that are counted at a time: their results so far are in memory."""

Counting = dict[Tenant, "asyncio.Task[None]"]


class Counts:
    """Does the counts of each environment one at a time, the oldest task first."""

    def __init__(self, store: Store, context: Context, shards: Shards, trials: TaskTrials) -> None:
        self._store, self._context, self._trials = store, context, trials
        self._turns = TaskTurns(store, shards, STATISTICS)
        self._query_lock = asyncio.Lock()
        """Held by the count that queries the store; counts that wait for it are served in order."""

    async def count_all(self) -> None:
        """Do all counts; return when none is left."""
        counting: Counting = {}
        try:
            await self._start(counting)
            while counting:
                running = counting.values()
                look, first = self._context.limits.look, asyncio.FIRST_COMPLETED
                done, _ = await asyncio.wait(running, timeout=look, return_when=first)
                for tenant in [tenant for tenant, count in counting.items() if count in done]:
                    counting.pop(tenant).result()
                await self._start(counting)
        finally:
            for count in counting.values():
                count.cancel()
            if counting:
                await asyncio.gather(*counting.values(), return_exceptions=True)

    async def _start(self, counting: Counting) -> None:
        """Start a count for each environment that has none running."""
        asked = set[Tenant]()
        while len(counting) < MOST_QUEUED_COUNTS and (task := await self._turns.next()) is not None:
            if task.tenant in asked:
                break
            asked.add(task.tenant)
            if task.tenant not in counting and not self._trials.paused(task.tenant):
                counting[task.tenant] = asyncio.create_task(self._count(task))

    async def _count(self, task: Task) -> None:
        await self._trials.attempt(task, self._count_and_finish)

    async def _count_and_finish(self, task: Task, lease: Lease) -> Task:
        data = await count_statistics(self._store, task, self._query_lock)
        return await self._store.finish(task, data, now=self._context.now(), lease=lease)
