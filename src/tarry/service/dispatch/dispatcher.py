"""The dispatcher: own shards, take up their lanes, feed them, settle what was answered.

Its parts run side by side, each a small step in a loop. When the database is away, each waits and
tries again: nothing is lost, nothing is sent twice over it, and it goes on by itself.
"""

import asyncio
import logging
import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence

from tarry.core.policy import Policy
from tarry.errors import StoreError
from tarry.service.dispatch import upkeep
from tarry.service.dispatch.clock import Clock, steady
from tarry.service.dispatch.desk import Desk, Finished, Held
from tarry.service.dispatch.feed import feed_once
from tarry.service.dispatch.gate import RULE
from tarry.service.dispatch.muster import Muster
from tarry.service.dispatch.repeat import repeat
from tarry.service.dispatch.shards import Shards
from tarry.service.dispatch.telling import News
from tarry.service.failpoints import hit
from tarry.service.model import ids
from tarry.service.model.lane import Lease
from tarry.service.model.settings import DELIVERY, Limits, Parking
from tarry.service.model.task import STATISTICS, Task, Work
from tarry.service.store.contract import Store
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import Sender
from tarry.service.wire.seal import Seals

log = logging.getLogger("tarry.service")

SETTLED_AT_ONCE = 500
HANDED_OVER_WITHIN = 0.25
"""How soon shards are looked at again that change hands, in seconds."""


class Dispatcher:
    """Delivers what waits in a store. `run` it in an event loop; `stop` lets it finish."""

    def __init__(  # noqa: PLR0913  what a dispatcher is put together from
        self,
        store: Store,
        sender: Sender,
        *,
        seals: Seals,
        egress: Egress,
        policy: Policy = DELIVERY,
        limits: Limits = Limits(),  # noqa: B008  a frozen value
        parking: Parking = Parking(),  # noqa: B008  a frozen value
        kept: upkeep.Kept = upkeep.Kept(),  # noqa: B008  a frozen value
        source: Callable[[], float] = steady,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._store, self._sender = store, sender
        self._seals, self._egress, self._policy = seals, egress, policy
        self._limits, self._parking, self._kept = limits, parking, kept
        self._source, self._draw = source, draw
        self._stopping = asyncio.Event()
        self._bells: dict[str, asyncio.Event] = {
            name: asyncio.Event() for name in ("feed", "own", "settle", "tick", "upkeep", "wake")
        }
        self._settling = asyncio.Lock()
        self._troubles: Counter[str] = Counter()
        self._news = News(store)
        self.ready = asyncio.Event()
        """Set once the first shards are owned."""
        self.drained = False
        """Whether it ended with nothing on its way."""
        self._hurried = False
        self._patience: asyncio.Timeout | None = None

    # --- From start to end ----------------------------------------------------------------------

    async def run(self) -> None:
        """Deliver until `stop` is called, then until nothing is on its way any more."""
        loop = asyncio.get_running_loop()
        clock = Clock(await self._store.clock(), self._source)
        self.desk = Desk(
            now=clock,
            later=loop.call_later,
            draw=self._draw,
            sender=self._sender,
            limits=self._limits,
            parking=self._parking,
        )
        self.desk.wake, self.desk.doubt = self._ring, self._bells["own"].set
        self.desk.look_again = self._look_again
        worker = ids.make("worker_", now=clock(), entropy=os.urandom(ids.CHANCE))
        self.shards = Shards(self._store, worker, self._limits, clock)
        self.muster = Muster(
            self._store,
            self.desk,
            self.shards,
            seals=self._seals,
            egress=self._egress,
            policy=self._policy,
        )
        self._store.listen(self._nudge)
        await self._own_once()
        self.ready.set()
        steps = (
            self._repeat(self._own_once, self._limits.lease / 3, bell="own"),
            self._repeat(self._wake_once, self._limits.look, bell="wake"),
            self._repeat(self._feed_all, None, bell="feed"),
            self._repeat(self._settle_all, None, bell="settle"),
            self._repeat(self._tick_all, None, bell="tick"),
            self._repeat(self._upkeep_once, self._limits.look, bell="upkeep"),
            self._repeat(self._count_all, self._limits.look),
            self._repeat(self._tell_all, self._limits.look),
            self._repeat(self._keep_up, self._limits.keep_up),
        )
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(step) for step in steps]
                await self._stopping.wait()
                await self._drain()
                for task in tasks:
                    task.cancel()
        finally:
            for held in self.shards.held.values():
                self._drop(held)

    def stop(self) -> None:
        """Send nothing more; `run` ends when what is on its way has ended."""
        self._stopping.set()

    def hurry(self) -> None:
        """Wait no longer for what is on its way: end, as if the time for that were over."""
        self._hurried = True
        if self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time())

    async def _drain(self) -> None:
        """Wait for what is on its way, write everything down, and give the shards back."""
        hit("drain.start")
        grace = 0.0 if self._hurried else self._limits.grace
        try:
            async with asyncio.timeout(grace) as self._patience:
                while not self._all_quiet():  # noqa: ASYNC110  asked for once, at the very end
                    await asyncio.sleep(RULE.tick)
                await self._leave(list(self.shards.held.values()))
                await self.shards.retire()
        except TimeoutError:
            log.warning("stopped with attempts on their way")
        except StoreError as error:
            log.warning("stopped, and what is known could not be written down: %s", error)
        else:
            self.drained = True
        finally:
            self._patience = None
        # If not, nothing is given back: who takes over waits until the leases have ended.

    def _all_quiet(self) -> bool:
        """Have nothing more sent; whether nothing is on its way any more."""
        held = list(self.shards.held.values())
        for shard in held:
            shard.leaving = True
        return all(lane.quiet for shard in held for lane in shard.lanes.values())

    def _nudge(self) -> None:
        self._bells["wake"].set()
        self._bells["upkeep"].set()

    def _ring(self) -> None:
        for name in ("feed", "settle", "tick"):
            self._bells[name].set()

    async def _repeat(
        self, step: Callable[[], Awaitable[None]], every: float | None, *, bell: str = ""
    ) -> None:
        await repeat(step, every, bell=self._bells.get(bell), draw=self._draw)

    # --- Shards and lanes -----------------------------------------------------------------------

    async def _own_once(self) -> None:
        """Keep the shards that are owned, take up new ones, leave those that others should have."""
        lost = await self.shards.renew()
        for held in lost:
            self._drop(held)
        if lost:
            log.warning("%d shards were lost: their leases had ended", len(lost))
        for held in self.shards.held.values():
            if held.overslept:
                held.overslept = False
                for lane in list(held.lanes.values()):
                    lane.pump()
        if self._stopping.is_set():
            return
        await self.shards.take()
        new = [held for held in self.shards.held.values() if not held.known]
        if new:
            await self._store.woken([held.lease for held in new])
            awake = await self._store.awake([held.lease.shard for held in new])
            # Not here: many take longer than a lease lasts, which is to be renewed meanwhile.
            self._look_again(awake)
            for held in new:
                held.known = True
        await self._leave(self.shards.left())
        if self.shards.moving:
            self.desk.later(HANDED_OVER_WITHIN, self._bells["own"].set)

    async def _leave(self, left: Sequence[Held]) -> None:
        """Write down what their lanes know, and give shards back."""
        if not left:
            return
        now = self.desk.now()
        for held in left:
            for lane in held.lanes.values():
                lane.save(now)
        await self._settle_all()
        await self.muster.learn()
        await self.shards.release(list(left))
        for held in left:
            self._drop(held)

    def _drop(self, held: Held) -> None:
        for lane in held.lanes.values():
            lane.leave()
        held.lanes.clear()

    def _look_again(self, lanes: Iterable[int]) -> None:
        """Have lanes taken up soon."""
        self.muster.woken.update(dict.fromkeys(lanes))
        self._bells["wake"].set()

    async def _wake_once(self) -> None:
        """Look at lanes that have something new."""
        leases = [held.lease for held in self.shards.held.values() if not held.leaving]
        if not leases:
            return
        try:
            woken = await self._store.woken(leases)
        except StoreError:
            # It may have been told all the same, and is told once only: look through all of them.
            for held in self.shards.held.values():
                held.known = False
            self._bells["own"].set()
            raise
        await self.muster.take_up(woken)

    # --- Rows, settlements, ticks ---------------------------------------------------------------

    async def _feed_all(self) -> None:
        while self.desk.hungry:
            await feed_once(self._store, self.desk)
            await asyncio.sleep(0)

    async def _settle_all(self) -> None:
        desk = self.desk
        async with self._settling:
            while desk.finished or desk.changes or desk.resting:
                await self._settle_once()
                if desk.resting and not desk.finished:
                    await self._rest_once()
        if desk.learned:
            desk.learned = False
            await self.muster.learn()

    async def _settle_once(self) -> None:
        desk = self.desk
        batch, desk.finished = desk.finished[:SETTLED_AT_ONCE], desk.finished[SETTLED_AT_ONCE:]
        changes, desk.changes = desk.changes, {}
        if not batch and not changes:
            return
        hit("settle.start")
        try:
            made = await self._store.settle(
                [settlement for _, _, settlement in batch],
                list(changes.values()),
                self.shards.leases() if changes else self._leases_of(batch),
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
            self._look_again(stood)

    def _leases_of(self, batch: Sequence[Finished]) -> list[Lease]:
        """Those that a batch is settled under: mostly one, and each is looked at."""
        held = self.shards.held
        shards = {lane.held.lease.shard for lane, _, _ in batch}
        return [held[shard].lease for shard in shards if shard in held]

    async def _rest_once(self) -> None:
        """Let go of lanes that have nothing to do, and doze those that wait; others go on."""
        desk = self.desk
        asked, desk.resting = desk.resting, {}
        lanes = {lane.number: lane for lane in asked if lane.streams.all_read()}
        idle = {number: lane.added for number, lane in lanes.items() if lane.streams.drained()}
        live = {number: lane.added for number, lane in lanes.items() if number not in idle}
        try:
            told = await self._store.doze(live, self.shards.leases()) if live else set()
            rested = await self._store.rest(idle, self.shards.leases()) if idle else set()
        except BaseException:
            desk.resting = asked | desk.resting
            raise
        now = desk.now()
        for number, lane in lanes.items():
            if number in rested:
                lane.ended = lane.added
            if number in rested and lane.may_leave(now):
                lane.leave()
                del lane.held.lanes[number]
            elif number in told or number in rested:
                lane.dozing = True
            else:
                lane.streams.rewind()
                lane.pump()

    async def _tick_all(self) -> None:
        desk = self.desk
        while desk.ticking:
            now = desk.now()
            for ticking in list(desk.ticking):
                if not ticking.tick(now):
                    desk.ticking.pop(ticking, None)
            await asyncio.sleep(RULE.tick)

    # --- Now and then ---------------------------------------------------------------------------

    async def _upkeep_once(self) -> None:
        """Collect, and get on with tasks, by turns: neither holds up the other."""
        failed: StoreError | None = None
        more = True
        while more:
            more = False
            for step in (self._collect_once, self._advance_once):
                try:
                    more = await step() or more
                except StoreError as error:
                    failed = error
        if failed is not None:
            raise failed

    async def _collect_once(self) -> bool:
        collected = await self._store.collect(now=self.desk.now(), limit=upkeep.CHUNK)
        if collected:
            self._bells["wake"].set()
        return bool(collected)

    async def _advance_once(self) -> bool:
        task = await upkeep.advance_once(self._store, self.desk, self.shards, self._troubles)
        if task is not None:
            await self._replayed(task)
        return task is not None

    async def _replayed(self, task: Task) -> None:
        """Let a lane know that its queue was changed: what was replayed goes at a pace."""
        if not task.lane:
            return
        await self.muster.take_up([task.lane])
        lane = self.shards.lane(task.application, task.lane)
        if lane is not None and task.work is not Work.DISCARD:
            lane.replay(self.desk.now())

    async def _count_all(self) -> None:
        """Count what was asked for. It may take long, so nothing else waits for it."""
        shared = (self._store, self.desk, self.shards, self._troubles)
        while await upkeep.advance_once(*shared, STATISTICS) is not None:
            pass

    async def _tell_all(self) -> None:
        """Have operational webhooks hear of what is new."""
        while await self._news.tell_once(self.shards.numbers, self.desk.now()):
            pass

    async def _keep_up(self) -> None:
        # Whoever is awake was told of. If one was not after all, it must not sleep for ever.
        known = {number for held in self.shards.held.values() for number in held.lanes}
        awake = await self._store.awake(self.shards.numbers)
        await self.muster.take_up([number for number in awake if number not in known])
        for held in list(self.shards.held.values()):
            for lane in list(held.lanes.values()):
                await upkeep.expire_once(self._store, self.desk, held, lane)
        await self.muster.learn()
        self.muster.forget_origins()
        self.muster.forget_tenants()
        await upkeep.sweep(self._store, self._kept, self.desk.now())
