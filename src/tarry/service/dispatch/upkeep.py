"""What has to be done now and then: tasks, ages, warnings, retention, and what callers left."""

import logging
from collections import Counter
from collections.abc import Collection

from msgspec import Struct

from tarry.errors import StoreUnavailable
from tarry.service.dispatch.desk import Desk, Held
from tarry.service.dispatch.lane import Lane
from tarry.service.dispatch.shards import Shards
from tarry.service.dispatch.statistics import counted
from tarry.service.model.application import shard_of
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.settings import DAY
from tarry.service.model.task import IN_PIECES, STATISTICS, Task, Work
from tarry.service.store.contract import Retention, Store

CHUNK = 500
"""How many rows are changed in one commit."""
TRIES = 5
"""How often a task that cannot be done is tried, about a second apart."""

log = logging.getLogger("tarry.service")


class Kept(Struct, frozen=True, kw_only=True):
    """How long things are kept, in seconds; None is for ever."""

    payloads: float | None = 90 * DAY
    messages: float | None = 90 * DAY
    keys: float | None = DAY / 2
    notices: float | None = 90 * DAY
    tasks: float | None = 90 * DAY
    refused: float | None = 90 * DAY
    claims: float | None = DAY / 2
    portal_keys: float | None = 7 * DAY

    def at(self, now: float) -> Retention:
        """What may go now."""

        def before(kept: float | None) -> float | None:
            return None if kept is None else now - kept

        return Retention(
            payloads_before=before(self.payloads),
            expired_before=now,
            messages_before=before(self.messages),
            keys_before=before(self.keys),
            notices_before=before(self.notices),
            tasks_before=before(self.tasks),
            refused_before=before(self.refused),
            claims_before=before(self.claims),
            portal_keys_before=before(self.portal_keys),
        )


async def advance_once(
    store: Store,
    desk: Desk,
    shards: Shards,
    troubles: Counter[str],
    works: Collection[Work] = IN_PIECES,
) -> Task | None:
    """Do a piece of the oldest task; the task, or None if there is nothing that can be done.

    `troubles` counts how often each task could not be done: it is given up in the end, or those
    behind it would wait for ever. A database that is away is no task's fault.
    """
    task = await store.task(shards.numbers, works)
    held = None if task is None else shards.held.get(shard_of(task.application))
    if task is None or held is None:
        return None
    try:
        if task.work in STATISTICS:
            data = await counted(store, task)
            advanced = await store.finish(task, data, now=desk.now(), lease=held.lease)
        else:
            advanced = await store.advance(task, now=desk.now(), limit=CHUNK, lease=held.lease)
    except StoreUnavailable:
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, the dispatcher and other tasks go on
        troubles[task.id] += 1
        log.warning("task %s (%s) cannot be done: %r", task.id, task.work, error)
        if troubles[task.id] < TRIES:
            return None
        advanced = await store.give_up(task, _why(error), now=desk.now(), lease=held.lease)
    troubles.pop(task.id, None)
    return None if advanced == task else advanced


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


async def expire_once(store: Store, desk: Desk, held: Held, lane: Lane) -> None:
    """End what has become too old in a lane, and see to its endpoint's warnings."""
    now = desk.now()
    lane.look_after(now)
    within = lane.outfit.policy.within
    if within is None or lane.endpoint.standing is Standing.PARKED:
        return
    before = oldest(lane.endpoint, within, now)
    total, count = 0, CHUNK
    while count == CHUNK:
        count = await store.expire(
            lane.number, accepted_before=before, now=now, limit=CHUNK, lease=held.lease
        )
        total += count
    if total:
        lane.ended += total
        desk.failed += total
        lane.streams.changed()
        lane.pump()


def oldest(endpoint: Endpoint, within: float, now: float) -> float:
    """When a delivery was accepted that is just as old as may be; parked time does not count."""
    accepted_at = now - within
    for since, until in reversed(endpoint.parked):
        end = now if until is None else until
        if end > accepted_at:
            accepted_at -= end - max(since, 0.0)
    return accepted_at


async def sweep(store: Store, kept: Kept, now: float) -> int:
    """Remove what need not be kept, in small pieces; how many rows it was."""
    total = 0
    while count := await store.sweep(kept.at(now), limit=CHUNK):
        total += count
    return total
