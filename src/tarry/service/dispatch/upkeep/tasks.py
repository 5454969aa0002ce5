"""Tasks that people asked for: done in pieces while deliveries go on, a piece of each tenant's."""

from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane.phases import replay
from tarry.service.dispatch.ownership.lane_loader import LaneLoader
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.dispatch.upkeep.task_turns import TaskTurns
from tarry.service.dispatch.upkeep.trials import Trials
from tarry.service.model.lane import Lease
from tarry.service.model.task import IN_PIECES, Task, Tenant, Work
from tarry.service.store.contract import Store

CHUNK = 500
"""How many rows are changed in one commit."""


class Tasks:
    """Does the tasks of the shards that are owned: each tenant's oldest task in turn, a piece each.

    A task that cannot be done just now keeps the tasks of its own tenant waiting, and no others.
    """

    def __init__(
        self, store: Store, context: Context, shards: Shards, loader: LaneLoader, trials: Trials
    ) -> None:
        self._store, self._context, self._shards, self._loader = store, context, shards, loader
        self._trials = trials
        self._turns = TaskTurns(store, shards, IN_PIECES)

    async def advance(self) -> bool:
        """Do a piece of the next task and tell its lane; return whether there was one to do."""
        task = await self._advance_once()
        if task is not None and task.lane:
            await self._loader.load([task.lane])
            lane = self._shards.lane(task.application, task.lane)
            if lane is not None and task.work is not Work.DISCARD:
                replay(lane, self._context.now())  # what was replayed goes at a pace
        return task is not None

    async def _advance_once(self) -> Task | None:
        """Do a piece for the next tenant for which that is possible; None if there is none."""
        asked = set[Tenant]()
        while (task := await self._turns.next()) is not None and task.tenant not in asked:
            asked.add(task.tenant)
            if self._trials.paused(task.tenant):
                continue
            advanced = await self._trials.attempt(task, self._piece)
            if advanced is not None:
                return advanced
        return None

    async def _piece(self, task: Task, lease: Lease) -> Task:
        return await self._store.advance(task, now=self._context.now(), limit=CHUNK, lease=lease)
