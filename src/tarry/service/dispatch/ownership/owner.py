"""Owns shards: takes up the lanes of those that are new, and leaves those that others should have.

A lane that is awake in a shard that is owned is taken up sooner or later, whatever fails meanwhile.
"""

import logging
from collections.abc import Iterable, Sequence

from tarry.errors import StoreError
from tarry.service.dispatch.context import Context, OwnedShard
from tarry.service.dispatch.ownership.lane_loader import LaneLoader
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.dispatch.settling.writer import SettlementWriter
from tarry.service.dispatch.signals import Signals
from tarry.service.store.contract import Store

log = logging.getLogger("tarry.service")

HANDED_OVER_WITHIN = 0.25
"""How soon shards are looked at again that change hands, in seconds."""


class Owner:
    """Has the shards of one process, from when they are taken until they are left or lost."""

    def __init__(  # noqa: PLR0913  the parts that it goes between
        self,
        store: Store,
        *,
        context: Context,
        shards: Shards,
        loader: LaneLoader,
        writer: SettlementWriter,
        signals: Signals,
    ) -> None:
        self._store, self._context, self._shards = store, context, shards
        self._loader, self._writer, self._signals = loader, writer, signals

    async def own_once(self) -> None:
        """Keep the shards that are owned, take up new ones, leave those that others should have."""
        await self._renew()
        if self._signals.stop.is_set():
            return
        before = dict(self._shards.held)
        await self._shards.take()
        # A shard whose time was over before it could be renewed may be taken anew.
        held = self._shards.held
        self.drop(old for number, old in before.items() if held.get(number) is not old)
        await self._know_all()
        await self.leave(self._shards.left())
        if self._shards.moving:
            self._context.later(HANDED_OVER_WITHIN, self._signals.own.set)

    async def _renew(self) -> None:
        """Keep what is owned, and let lanes go on that had to wait for that."""
        lost = await self._shards.renew()
        self.drop(lost)
        if lost:
            log.warning("%d shards were lost: their leases had ended", len(lost))
        for held in self._shards.held.values():
            if held.overslept:
                held.overslept = False
                for lane in list(held.lanes.values()):
                    lane.pump()

    async def _know_all(self) -> None:
        """Have all lanes taken up that are awake in shards of which it is not known."""
        new = [held for held in self._shards.held.values() if not held.known]
        if not new:
            return
        await self._store.woken([held.lease for held in new])
        awake = await self._store.awake([held.lease.shard for held in new])
        # Not here: many take longer than a lease lasts, which is to be renewed meanwhile.
        self.look_again(awake)
        for held in new:
            held.known = True

    def read_all_again(self) -> None:
        """Trust nothing that was read: the database was away, and may have lost its last commits.

        A standby that took over may have lanes awake that were at rest, deliveries ready that were
        settled, and sequence numbers that it gives out once more. It tells nobody.
        """
        for held in self._shards.held.values():
            held.known = False
            for lane in list(held.lanes.values()):
                lane.start_over()
        self._signals.own.set()

    def look_again(self, lanes: Iterable[int]) -> None:
        """Have lanes taken up soon."""
        self._loader.woken.update(dict.fromkeys(lanes))
        self._signals.wake.set()

    async def wake_once(self) -> None:
        """Look at lanes that have something new."""
        leases = [held.lease for held in self._shards.held.values() if not held.leaving]
        if not leases:
            return
        try:
            woken = await self._store.woken(leases)
        except StoreError:
            # It may have been told all the same, and is told once only: look through all of them.
            for held in self._shards.held.values():
                held.known = False
            self._signals.own.set()
            raise
        await self._loader.take_up(woken)

    async def leave(self, left: Sequence[OwnedShard]) -> None:
        """Write down what their lanes know, and give shards back."""
        if not left:
            return
        now = self._context.now()
        for held in left:
            for lane in held.lanes.values():
                lane.save(now)
        await self._writer.settle_all()
        await self._loader.origins.learn()
        await self._shards.release(list(left))
        self.drop(left)

    def drop(self, shards: Iterable[OwnedShard]) -> None:
        """Have nothing more to do with the lanes of shards that are somebody else's."""
        for held in shards:
            for lane in held.lanes.values():
                lane.leave()
            held.lanes.clear()
