"""Try a task, and give it up if it fails every time: the tasks behind it would wait for ever."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable

from tarry.errors import StoreUnavailable
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.model.application import shard_of
from tarry.service.model.lane import Lease
from tarry.service.model.task import Task, Tenant
from tarry.service.store.contract import Store

TRIES = 5
"""How often a task is tried that fails every time."""
PAUSE = 1.0
"""Seconds between two tries. The other tasks of the same tenant wait as well."""

log = logging.getLogger("tarry.service")


class Trials:
    """Counts how often tasks failed. A database that cannot be reached is no task's failure."""

    def __init__(self, store: Store, context: Context, shards: Shards) -> None:
        self._store, self._context, self._shards = store, context, shards
        self._failures: Counter[str] = Counter()
        self._paused_until: dict[Tenant, float] = {}

    def paused(self, tenant: Tenant) -> bool:
        """Whether nothing should be tried for a tenant just now: its last try came to nothing."""
        now = self._context.now()
        if self._paused_until.get(tenant, now) > now:
            return True
        self._paused_until.pop(tenant, None)
        return False

    async def attempt(
        self, task: Task, do: Callable[[Task, Lease], Awaitable[Task]]
    ) -> Task | None:
        """Return the task after `do`, or given up; None if nothing became of this try."""
        shard = self._shards.owned.get(shard_of(task.application))
        after = None if shard is None else await self._tried(task, shard.lease, do)
        if after is None or after == task:
            self._paused_until[task.tenant] = self._context.now() + PAUSE
            return None
        self._failures.pop(task.id, None)
        return after

    async def _tried(
        self, task: Task, lease: Lease, do: Callable[[Task, Lease], Awaitable[Task]]
    ) -> Task | None:
        try:
            return await do(task, lease)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, the dispatcher and other tasks go on
            self._failures[task.id] += 1
            log.warning("task %s (%s) cannot be done: %r", task.id, task.work, error)
            if self._failures[task.id] < TRIES:
                return None
            why = str(error) or type(error).__name__
        return await self._store.give_up(task, why, now=self._context.now(), lease=lease)
