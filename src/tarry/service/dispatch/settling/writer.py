"""Writes settlements and changes of lanes to the store, and lets lanes rest."""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Sequence

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.ownership.lane_loader import LaneLoader
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.dispatch.settling.refused import Part
from tarry.service.failpoints import hit
from tarry.service.model.lane import Lease
from tarry.service.store.contract import Store

log = logging.getLogger("tarry.service")

SETTLED_AT_ONCE = 500
REFUSED_AGAIN_AFTER = 60.0
"""Seconds after which a settlement is tried again that the store refused in every form."""


class SettlementWriter:
    """Writes many settlements in one commit, each under the lease that its attempt was sent under.

    What could not be written stays on the list. If the store refuses a commit although it can be
    used, the settlement at fault is found by halving. It is written in a simpler form, or alone
    later; the others do not wait for it, and it is not sent again meanwhile.
    """

    def __init__(self, store: Store, context: Context, shards: Shards, loader: LaneLoader) -> None:
        self._store, self._context, self._shards, self._loader = store, context, shards, loader
        self._busy = asyncio.Lock()

    async def settle_all(self) -> None:
        """Write down all there is."""
        context = self._context
        async with self._busy:
            while context.finished or context.changes or context.resting:
                await self._settle_once()
                if (
                    context.resting
                ):  # also while settlements keep coming: nobody else reads for them
                    await self._rest_once()
        if context.learned:
            context.learned = False
            await self._loader.origins.learn()

    async def _settle_once(self) -> None:
        """Settle some, with all changes, and let their lanes go on."""
        context = self._context
        batch, context.finished = (
            context.finished[:SETTLED_AT_ONCE],
            context.finished[SETTLED_AT_ONCE:],
        )
        changes, context.changes = context.changes, {}
        if not batch and not changes:
            return
        hit("settle.start")
        parts = deque([Part(tuple(batch), tuple(changes.values()))])
        try:
            while parts:
                await self._write_first(parts)
        except BaseException:
            self._put_back(parts)
            raise

    async def _write_first(self, parts: deque[Part]) -> None:
        """Write the first part and let its lanes go on; if the store refuses it, leave its halves.

        What cannot be halved is written in a simpler form, or put back after a while.
        """
        part = parts[0]
        written: tuple[Part, list[bool]] | None
        try:
            written = part, await self._settle(part)
        except StoreUnavailable:
            raise
        except StoreError as error:
            if halves := part.halves():
                parts.popleft()
                parts.extendleft(reversed(halves))
                return
            written = await self._settle_simpler(part, error)
        parts.popleft()
        if written is not None:
            self._tell(*written)

    async def _settle_simpler(
        self, part: Part, error: StoreError
    ) -> tuple[Part, list[bool]] | None:
        """Write without details what the store refused; None if it refuses that too."""
        self._context.unwritable += 1
        for simpler in part.simpler():
            try:
                made = await self._settle(simpler)
            except StoreUnavailable:
                raise
            except StoreError:
                continue
            log.error("defect: %s was written without its details: %s", part, error)
            return simpler, made
        log.error("defect: %s cannot be written now: %s", part, error)
        self._context.later(REFUSED_AGAIN_AFTER, lambda: self._put_back([part]))
        return None

    async def _settle(self, part: Part) -> list[bool]:
        return await self._store.settle(part.settlements, part.changes, self._leases(part))

    def _leases(self, part: Part) -> list[Lease]:
        """Return the leases that a part was made under: few, as the store checks each of them."""
        leases = dict.fromkeys(lane.held.lease for lane, _, _ in part.finished)
        if part.changes:
            leases |= dict.fromkeys(self._shards.leases())
        return list(leases)

    def _tell(self, part: Part, made: Sequence[bool]) -> None:
        """Let lanes go on whose settlements were written."""
        context = self._context
        context.unsettled -= len(part.finished)
        for (lane, due, settlement), done in zip(part.finished, made, strict=True):
            lane.settled(due, settlement, done=done)
        hit("settle.told")
        stopped, context.stopped = context.stopped, {}
        for lane in dict.fromkeys(lane for lane, _, _ in part.finished) | stopped:
            lane.pump()
        stood = [change.lane for change in part.changes if change.standing is not None]
        if stood:  # what was read meanwhile may say otherwise
            context.look_again(stood)

    def _put_back(self, parts: Iterable[Part]) -> None:
        """Put what was not written on the list again, before what came later."""
        context = self._context
        unwritten = list(parts)
        context.finished[:0] = [one for part in unwritten for one in part.finished]
        for part in unwritten:
            for change in part.changes:
                context.unwritten(change)
        context.wake()

    async def _rest_once(self) -> None:
        """Let lanes sleep that have read everything that is ready; the others go on reading.

        The store agrees only if it holds nothing beyond the position that a lane has read to. A
        lane that was woken or began to read again while the store was asked stays awake: the
        store's answer is about an earlier position.
        """
        context = self._context
        asked, context.resting = context.resting, {}
        lanes = {lane.number: lane for lane in asked if lane.buffer.ready_read()}
        turns = {number: lane.buffer.turn for number, lane in lanes.items()}
        read_to = {number: lane.buffer.read_to for number, lane in lanes.items()}
        idle = {number: read_to[number] for number in lanes if lanes[number].buffer.drained()}
        live = {number: read_to[number] for number in lanes if number not in idle}
        try:
            dozing = await self._store.doze(live, self._shards.leases()) if live else set()
            resting = await self._store.rest(idle, self._shards.leases()) if idle else set()
        except BaseException:
            context.resting = {lane: None for lane in asked if not lane.left} | context.resting
            raise
        asleep = {
            number for number in dozing | resting if lanes[number].buffer.turn == turns[number]
        }
        now = context.now()
        for lane in asked:
            if lane.left:
                continue
            if lane.number not in asleep:
                if lane.number in lanes and lane.buffer.turn == turns[lane.number]:
                    lane.buffer.rewind()
                lane.pump()
                continue
            lane.dozing = True
            if lane.number in resting:
                lane.ended = lane.added
                if lane.may_leave(now):
                    lane.leave()
                    del lane.held.lanes[lane.number]
