"""Writes down what lies on the desk: settlements and changes, and which lanes are at rest."""

import asyncio
from collections.abc import Mapping, Sequence

from tarry.service.dispatch.desk import Desk, Finished
from tarry.service.dispatch.muster import Muster
from tarry.service.dispatch.shards import Shards
from tarry.service.failpoints import hit
from tarry.service.model.lane import Change, Lease
from tarry.service.store.contract import Store

SETTLED_AT_ONCE = 500


class Clerk:
    """Writes many settlements in one commit, each under the lease that its attempt was sent under.

    What could not be written down stays on the desk.
    """

    def __init__(self, store: Store, desk: Desk, shards: Shards, muster: Muster) -> None:
        self._store, self._desk, self._shards, self._muster = store, desk, shards, muster
        self._busy = asyncio.Lock()

    async def settle_all(self) -> None:
        """Write down all there is."""
        desk = self._desk
        async with self._busy:
            while desk.finished or desk.changes or desk.resting:
                await self._settle_once()
                if desk.resting:  # also while settlements keep coming: nobody else reads for them
                    await self._rest_once()
        if desk.learned:
            desk.learned = False
            await self._muster.learn()

    async def _settle_once(self) -> None:
        """Settle some, with all changes, and let their lanes go on."""
        desk = self._desk
        batch, desk.finished = desk.finished[:SETTLED_AT_ONCE], desk.finished[SETTLED_AT_ONCE:]
        changes, desk.changes = desk.changes, {}
        if not batch and not changes:
            return
        hit("settle.start")
        try:
            made = await self._store.settle(
                [settlement for _, _, settlement in batch],
                list(changes.values()),
                self._leases(batch, changes),
            )
        except BaseException:
            desk.finished[:0] = batch
            for change in changes.values():
                desk.unwritten(change)
            raise
        desk.unsettled -= len(batch)
        for (lane, due, settlement), done in zip(batch, made, strict=True):
            lane.settled(due, settlement, done=done)
        hit("settle.told")
        stopped, desk.stopped = desk.stopped, {}
        for lane in dict.fromkeys(lane for lane, _, _ in batch) | stopped:
            lane.pump()
        stood = [change.lane for change in changes.values() if change.standing is not None]
        if stood:  # what was read meanwhile may say otherwise
            desk.look_again(stood)

    def _leases(self, batch: Sequence[Finished], changes: Mapping[int, Change]) -> list[Lease]:
        """Return the leases that a batch was made under: few, as the store checks each of them."""
        leases = dict.fromkeys(lane.held.lease for lane, _, _ in batch)
        if changes:
            leases |= dict.fromkeys(self._shards.leases())
        return list(leases)

    async def _rest_once(self) -> None:
        """Let lanes sleep that have read everything that is ready; the others go on reading.

        The store agrees only if it holds nothing beyond the position that a lane has read to. A
        lane that was woken or began to read again while the store was asked stays awake: the
        store's answer is about an earlier position.
        """
        desk = self._desk
        asked, desk.resting = desk.resting, {}
        lanes = {lane.number: lane for lane in asked if lane.streams.ready_read()}
        turns = {number: lane.streams.turn for number, lane in lanes.items()}
        read_to = {number: lane.streams.read_to for number, lane in lanes.items()}
        idle = {number: read_to[number] for number in lanes if lanes[number].streams.drained()}
        live = {number: read_to[number] for number in lanes if number not in idle}
        try:
            dozing = await self._store.doze(live, self._shards.leases()) if live else set()
            resting = await self._store.rest(idle, self._shards.leases()) if idle else set()
        except BaseException:
            desk.resting = {lane: None for lane in asked if not lane.left} | desk.resting
            raise
        asleep = {
            number for number in dozing | resting if lanes[number].streams.turn == turns[number]
        }
        now = desk.now()
        for lane in asked:
            if lane.left:
                continue
            if lane.number not in asleep:
                if lane.number in lanes and lane.streams.turn == turns[lane.number]:
                    lane.streams.rewind()
                lane.pump()
                continue
            lane.dozing = True
            if lane.number in resting:
                lane.ended = lane.added
                if lane.may_leave(now):
                    lane.leave()
                    del lane.held.lanes[lane.number]
