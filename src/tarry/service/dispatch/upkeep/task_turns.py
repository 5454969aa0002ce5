"""Whose task is next: tenants take turns, so one with many tasks delays another by one piece."""

from collections.abc import Collection

from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.model.task import FIRST_TENANT, Task, Work
from tarry.service.store.contract import Store


class TaskTurns:
    """Goes round the tenants of the owned shards that have tasks of some works to be done."""

    def __init__(self, store: Store, shards: Shards, works: Collection[Work]) -> None:
        self._store, self._shards, self._works = store, shards, works
        self._served = FIRST_TENANT

    async def next(self) -> Task | None:
        """Return the next tenant's oldest task; None if no tenant has any."""
        task = await self._find()
        if task is None and self._served != FIRST_TENANT:
            self._served = FIRST_TENANT
            task = await self._find()
        if task is not None:
            self._served = task.tenant
        return task

    async def _find(self) -> Task | None:
        shards = self._shards.numbers
        return await self._store.task(shards, self._works, after=self._served)
