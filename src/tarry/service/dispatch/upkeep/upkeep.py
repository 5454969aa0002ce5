"""Work that is done now and then: ages, warnings, retention, and the outbox."""

from msgspec import Struct

from tarry.errors import StoreError
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.ownership.lane_loader import LaneLoader
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.dispatch.upkeep.tasks import Tasks
from tarry.service.dispatch.work import Signals, wait_for
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.settings import DAY
from tarry.service.store.contract import Retention, Store

CHUNK = 500
"""How many rows are changed in one commit."""


class Kept(Struct, frozen=True, kw_only=True):
    """How long things are kept, in seconds; None means without limit."""

    payloads: float | None = 90 * DAY
    messages: float | None = 90 * DAY
    keys: float | None = DAY / 2
    notices: float | None = 90 * DAY
    tasks: float | None = 90 * DAY
    refused: float | None = 90 * DAY
    claims: float | None = DAY / 2
    portal_keys: float | None = 7 * DAY
    audit: float | None = 365 * DAY

    def at(self, now: float) -> Retention:
        """Return what may be deleted now."""

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
            audit_before=before(self.audit),
        )


class Upkeep:
    """Collects messages from the outbox, advances tasks, and deletes what is too old."""

    def __init__(  # noqa: PLR0913  the parts that it connects
        self,
        store: Store,
        *,
        context: Context,
        shards: Shards,
        loader: LaneLoader,
        tasks: Tasks,
        signals: Signals,
        kept: Kept,
    ) -> None:
        self._store, self._context, self._shards, self._loader = store, context, shards, loader
        self._tasks, self._signals, self._kept = tasks, signals, kept

    async def upkeep_once(self) -> None:
        """Collect from the outbox and advance tasks, by turns: neither delays the other."""
        failed: StoreError | None = None
        collected, pause = True, None
        while collected or pause is not None:
            collected, pause = False, None
            try:
                collected = await self._collect_once()
            except StoreError as error:
                failed = error
            try:
                pause = await self._tasks.advance()
            except StoreError as error:
                failed = error
            if pause and not collected:
                await wait_for(self._signals.upkeep, pause)  # a new task does not wait for it
        if failed is not None:
            raise failed

    async def _collect_once(self) -> bool:
        """Collect some messages from the outbox; return whether there were any."""
        collected = await self._store.collect(now=self._context.now(), limit=CHUNK)
        if collected:
            self._signals.load.set()
        return bool(collected)

    async def keep_up(self) -> None:
        """Load awake lanes that were missed, end deliveries that are too old, sweep the store."""
        # The store reports each lane that wakes. If a report was lost, the lane is found here.
        known = {lane.number for lane in self._shards.lanes()}
        awake = await self._store.awake(self._shards.numbers)
        await self._loader.load([number for number in awake if number not in known])
        for lane in list(self._shards.lanes()):
            await expire_once(self._store, self._context, lane)
        await self._loader.origins.save()
        self._loader.origins.forget()
        self._loader.forget_tenants()
        await sweep(self._store, self._kept, self._context.now())


async def expire_once(store: Store, context: Context, lane: Lane) -> None:
    """End deliveries of a lane that are too old, and send its endpoint's due warnings."""
    now = context.now()
    lane.warn_or_park(now)
    within = lane.config.policy.within
    if within is None or lane.endpoint.standing is Standing.PARKED:
        return
    before = oldest_kept(lane.endpoint, within, context.earlier(now))
    total, count = 0, CHUNK
    while count == CHUNK:
        count = await store.expire(
            lane.number, accepted_before=before, now=now, limit=CHUNK, lease=lane.held.lease
        )
        total += count
    if total:
        context.counters.count_failed(total)
        lane.expired(total)


def oldest_kept(endpoint: Endpoint, within: float, now: float) -> float:
    """Return when the oldest delivery was accepted that may be kept; parked time does not count."""
    accepted_at = now - within
    for since, until in reversed(endpoint.parked):
        end = now if until is None else until
        if end > accepted_at:
            accepted_at -= end - max(since, 0.0)
    return accepted_at


async def sweep(store: Store, kept: Kept, now: float) -> int:
    """Delete all rows that are older than `kept` allows; return how many rows were deleted.

    Each call of the store deletes only `CHUNK` rows, so that no transaction is long.
    """
    total = 0
    while count := await store.sweep(kept.at(now), limit=CHUNK):
        total += count
    return total
