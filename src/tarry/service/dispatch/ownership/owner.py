"""Owns shards: loads the lanes of new shards, and hands over shards beyond this worker's share.

Every awake lane of an owned shard is loaded sooner or later, whatever fails meanwhile.
"""

import logging
from collections.abc import Iterable, Sequence

from tarry.core.pace import Phase
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.ownership.lane_loader import LaneLoader
from tarry.service.dispatch.ownership.shards import OwnedShard, Shards
from tarry.service.dispatch.settling.writer import SettlementWriter
from tarry.service.dispatch.work import Signals, Work
from tarry.service.store.contract import Store

log = logging.getLogger("tarry.service")

HANDED_OVER_WITHIN = 0.25
"""Seconds until the next look at the shards while some of them are being handed over."""


class Owner:
    """Manages the shards of one process, from when they are taken until they are left or lost."""

    def __init__(  # noqa: PLR0913  the parts that it connects
        self,
        store: Store,
        *,
        context: Context,
        work: Work[Lane],
        shards: Shards,
        loader: LaneLoader,
        writer: SettlementWriter,
        signals: Signals,
    ) -> None:
        self._store, self._context, self._work, self._shards = store, context, work, shards
        self._loader, self._writer, self._signals = loader, writer, signals
        self._server: float | None = None
        """The start time of the database server that answered last."""

    async def own_once(self) -> None:
        """Take new shards, have their lanes loaded, and hand over those beyond the share."""
        if self._signals.stop.is_set():
            return
        before = dict(self._shards.owned)
        new = await self._shards.take()
        if self._signals.stop.is_set():  # since then; these would send until the very end
            await self._shards.release(new)
            return
        if new:
            self._signals.upkeep.set()  # their tasks wait for an owner as well
        # A shard whose lease ended before it could be renewed may have been taken again.
        owned = self._shards.owned
        self.drop(old for number, old in before.items() if owned.get(number) is not old)
        await self._complete_shards()
        await self.leave(self._shards.left())
        if self._shards.moving:
            self._context.later(HANDED_OVER_WITHIN, self._signals.own.set)

    async def renew_once(self) -> None:
        """Renew the leases, and let lanes go on that had to wait for that.

        It has a loop of its own, so that no other long step delays a renewal.
        """
        lost = await self._shards.renew()
        self.drop(lost)
        if lost:
            log.warning("%d shards were lost: their leases had ended", len(lost))
        for shard in self._shards.owned.values():
            if shard.held.end_delay():
                for lane in list(shard.lanes.values()):
                    lane.pump()
        await self._look_at_server()

    async def _look_at_server(self) -> None:
        """Read all lanes again if another server answers: it may have lost the last commits.

        An error of the store has the same effect (`recovered` in `work.py`), but there is no
        error if the store was not used while the server was down.
        """
        before, self._server = self._server, (await self._store.server()).started_at
        if before not in {None, self._server}:
            log.warning("the database server was restarted: all lanes are read again")
            self.read_all_again()

    async def _complete_shards(self) -> None:
        """Put all awake lanes of incomplete shards on the list of lanes to load."""
        incomplete = {
            shard: shard.times_incomplete
            for shard in self._shards.owned.values()
            if not shard.is_complete
        }
        if not incomplete:
            return
        await self._store.woken([shard.lease for shard in incomplete])
        # They are not loaded here: for many lanes that takes longer than a lease lasts, and the
        # lease has to be renewed meanwhile.
        self._work.load(await self._store.awake([shard.lease.shard for shard in incomplete]))
        for shard, times_incomplete in incomplete.items():
            shard.mark_complete(times_incomplete)

    def read_all_again(self) -> None:
        """Read all lanes again: the database was unavailable, and may have lost its last commits.

        On a standby that took over, lanes may be awake that were at rest, deliveries may be ready
        that were settled, and sequence numbers may be given out a second time. The standby reports
        none of this. What is known of endpoints and origins in trouble is written again.
        """
        for shard in self._shards.owned.values():
            shard.mark_incomplete()
        lanes = list(self._shards.lanes())
        now = self._context.now()
        for lane in lanes:
            lane.start_over()
            if not lane.is_healthy or lane.gate.phase is not Phase.CLOSED:
                lane.save(now)
        self._loader.origins.write_again()
        self._work.load([lane.number for lane in lanes])
        self._signals.own.set()

    async def leave(self, left: Sequence[OwnedShard]) -> None:
        """Write what the lanes of these shards know, and give the shards back."""
        if not left:
            return
        now = self._context.now()
        for shard in left:
            for lane in shard.lanes.values():
                lane.save(now)
        await self._writer.settle_all()
        await self._loader.origins.save()
        await self._shards.release(list(left))
        self.drop(left)

    def drop(self, shards: Iterable[OwnedShard]) -> None:
        """Forget the lanes of shards that this worker does not own any more."""
        dropped = set()
        for shard in shards:
            dropped.add(shard.lease.shard)
            self._shards.clear(shard)
        self._loader.origins.drop(dropped - self._shards.owned.keys())
