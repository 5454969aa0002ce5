"""Tasks that users asked for: done in pieces beside deliveries, one piece for each tenant in turn.

- `TaskTurns`: finds the next task. Tenants take turns, so one with many tasks delays another only
  by one piece.
- `TaskTrials`: tries a task, and gives it up if it fails every time. Otherwise the tasks after it
  would never be done.
- `TenantPauses`: pauses a tenant after a piece, so that tasks take at most half of the time.
- `Tasks`: does the next piece of the next task.

Tasks that count statistics are done in `counts.py`, with turns and trials from here.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection

from tarry.errors import StoreUnavailable
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.ownership.lane_loader import LaneLoader
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.model.application import shard_of
from tarry.service.model.lane import Lease
from tarry.service.model.task import (
    FIRST_TENANT,
    IN_PIECES,
    REPLAYS,
    Failure,
    Task,
    Tenant,
    Work,
)
from tarry.service.store.contract import Store

log = logging.getLogger("tarry.service")

# --- Whose task is next -------------------------------------------------------------------------


class TaskTurns:
    """Goes round the tenants of the owned shards that have open tasks of these kinds of work."""

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
        return await self._store.next_task(shards, self._works, after=self._served)


# --- Tries --------------------------------------------------------------------------------------

MOST_TRIES = 5
"""How often a task is tried before it is given up."""
PAUSE_AFTER_TRY = 1.0
"""Seconds between two tries. The other tasks of the same tenant wait as well."""


class TaskTrials:
    """Counts how often tasks failed. An unreachable database does not count as a failure."""

    def __init__(self, store: Store, context: Context, shards: Shards) -> None:
        self._store, self._context, self._shards = store, context, shards
        self._failures: Counter[str] = Counter()
        self._paused_until: dict[Tenant, float] = {}

    def paused(self, tenant: Tenant) -> bool:
        """Return whether a tenant's tasks have to wait because its last try failed just now."""
        now = self._context.now()
        if self._paused_until.get(tenant, now) > now:
            return True
        self._paused_until.pop(tenant, None)
        return False

    async def attempt(
        self, task: Task, do: Callable[[Task, Lease], Awaitable[Task]]
    ) -> Task | None:
        """Return the task after `do`, or after it was given up; None if this try had no effect."""
        shard = self._shards.owned.get(shard_of(task.application))
        after = None if shard is None else await self._try_step(task, shard.lease, do)
        if after is None or after == task:
            self._paused_until[task.tenant] = self._context.now() + PAUSE_AFTER_TRY
            return None
        self._failures.pop(task.id, None)
        return after

    async def _try_step(
        self, task: Task, lease: Lease, do: Callable[[Task, Lease], Awaitable[Task]]
    ) -> Task | None:
        try:
            return await do(task, lease)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  no error may stop the dispatcher and other tasks
            self._failures[task.id] += 1
            log.warning("task %s (%s) cannot be done: %r", task.id, task.work, error)
            if self._failures[task.id] < MOST_TRIES:
                return None
            why = str(error) or type(error).__name__
        return await self._store.finish(task, Failure(why), now=self._context.now(), lease=lease)


# --- Pauses -------------------------------------------------------------------------------------

RECENT = 10.0
"""Seconds for which the piece of a tenant counts in the pauses of all tenants, at least. It
counts while the tenant pauses, which is longer if there are many tenants."""


class TenantPauses:
    """How long each tenant pauses after a piece, so that tasks take at most half of the time.

    Deliveries and the API write as well. From the start of one piece of a tenant to the start of
    its next it takes twice as long as the last pieces of all tenants took. A tenant without a
    recent piece does not pause, so its first piece waits only for the piece that is being done, and
    for those of other tenants whose pause is over.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._pieces: dict[Tenant, tuple[float, float]] = {}
        """When the last piece of a tenant ended, and how many seconds it took."""

    def add(self, tenant: Tenant, took: float) -> None:
        """Count a piece that ended just now."""
        now = self._now()
        recent = {
            who: piece
            for who, piece in self._pieces.items()
            if piece[0] > now - RECENT or self.left(who)
        }
        self._pieces = {**recent, tenant: (now, took)}

    def left(self, tenant: Tenant) -> float:
        """Return how many seconds a tenant has to pause from now on; 0 if its next piece may go."""
        if tenant not in self._pieces:
            return 0.0
        ended_at, took = self._pieces[tenant]
        all_took = sum(seconds for _, seconds in self._pieces.values())
        return max(0.0, ended_at - took + 2 * all_took - self._now())


# --- Pieces -------------------------------------------------------------------------------------

ROWS_OF_A_PIECE = 300
"""How many rows a piece changes at most: tasks of other tenants, and other writes, wait for it.
After each piece the lane is read again, so smaller pieces cost throughput: with pieces of 200, a
replay of 40,000 messages on a busy machine took a fifth longer than with these."""


class Tasks:
    """Does the tasks of the owned shards: one piece of each tenant's oldest task in turn.

    A task that cannot be done now delays only the tasks of its own tenant.
    """

    def __init__(
        self, store: Store, context: Context, shards: Shards, loader: LaneLoader, trials: TaskTrials
    ) -> None:
        self._store, self._context, self._shards, self._loader = store, context, shards, loader
        self._trials = trials
        self._turns = TaskTurns(store, shards, IN_PIECES)
        self._pauses = TenantPauses(context.now)

    async def advance(self) -> float | None:
        """Do a piece of the next task and load its lane again.

        Return after how many seconds to look for the next piece; None if there is none to do.
        """
        try:
            task, pause = await self._advance_once()
            if task is not None and task.lane:
                await self._loader.load([task.lane])
        finally:
            self._context.replay_into(None)
        return pause

    async def _advance_once(self) -> tuple[Task | None, float | None]:
        """Do a piece for the next tenant that may have one, and return its task.

        Without such a tenant, return how long to wait for one that pauses; None if no tenant does.
        """
        asked = set[Tenant]()
        pauses: list[float] = []
        while (task := await self._turns.next()) is not None and task.tenant not in asked:
            asked.add(task.tenant)
            if self._trials.paused(task.tenant):
                continue
            if left := self._pauses.left(task.tenant):
                pauses.append(left)
                continue
            advanced = await self._trials.attempt(task, self._piece)
            if advanced is not None:
                return advanced, 0.0
        return None, min(pauses, default=None)

    async def _piece(self, task: Task, lease: Lease) -> Task:
        self._context.replay_into(task.lane if task.work in REPLAYS else None)
        began = self._context.now()
        after = await self._store.advance(task, now=began, limit=ROWS_OF_A_PIECE, lease=lease)
        self._pauses.add(task.tenant, self._context.now() - began)
        return after
