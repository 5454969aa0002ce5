"""The dispatcher: owns shards, loads their lanes, reads rows for them, and writes the outcomes.

Its parts run side by side, each as a small step in a loop. While the database is unavailable, each
loop waits and retries its step. It continues by itself, and nothing is lost or sent twice because
of that.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine

from tarry.core.policy import Policy
from tarry.errors import StoreError
from tarry.service.dispatch.clock import Clock, steady
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.origins.origins import Origins
from tarry.service.dispatch.ownership.lane_loader import LaneLoader
from tarry.service.dispatch.ownership.owner import Owner
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.dispatch.settling.sleep import Sleep
from tarry.service.dispatch.settling.writer import SettlementWriter
from tarry.service.dispatch.upkeep.counts import Counts
from tarry.service.dispatch.upkeep.notices import NoticeSender
from tarry.service.dispatch.upkeep.tasks import Tasks, TaskTrials
from tarry.service.dispatch.upkeep.upkeep import Kept, Upkeep
from tarry.service.dispatch.upkeep.watchdog import Watchdog
from tarry.service.dispatch.work import Signals, Work, repeat
from tarry.service.failpoints import hit
from tarry.service.model import ids
from tarry.service.model.ids import entropy
from tarry.service.model.settings import DELIVERY, Limits, Parking
from tarry.service.store.contract import Store
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import Sender
from tarry.service.wire.seal import Seals

log = logging.getLogger("tarry.service")

LEAVING = 1.0
"""Seconds to give the shards back once no request is in flight, even after the time limit."""


class Dispatcher:
    """Delivers the messages of a store. `run` it in an event loop; `stop` lets it finish."""

    def __init__(  # noqa: PLR0913  everything that a dispatcher is built from
        self,
        store: Store,
        sender: Sender,
        *,
        seals: Seals,
        egress: Egress,
        policy: Policy = DELIVERY,
        limits: Limits = Limits(),  # noqa: B008  a frozen value
        parking: Parking = Parking(),  # noqa: B008  a frozen value
        kept: Kept = Kept(),  # noqa: B008  a frozen value
        source: Callable[[], float] = steady,
        draw: Callable[[], float] = random.random,
        chance: Callable[[int], bytes] = entropy,
    ) -> None:
        self._store, self._sender = store, sender
        self._seals, self._egress, self._policy = seals, egress, policy
        self._limits, self._parking, self._kept = limits, parking, kept
        self._source, self._draw, self._chance = source, draw, chance
        self._signals = Signals()
        self._notices = NoticeSender(store, chance)
        self.ready = asyncio.Event()
        """Set once the first shards are owned."""
        self.drained = False
        """Whether it ended with no request in flight and with everything written."""
        self._hurried = False
        self._left_after_hurry = 0.0
        """Seconds that remain for the current step of the drain after `hurry` was called."""
        self._time_limit: asyncio.Timeout | None = None

    # --- Running and stopping -------------------------------------------------------------------

    async def run(self) -> None:
        """Deliver until `stop` is called, then wait for the requests in flight and return."""
        self._put_together(await self._read_clock())
        self._store.listen(self._signals.store_has_news)
        await self._owner.own_once()
        self.ready.set()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(step) for step in self._loops()]
                await self._signals.stop.wait()
                await self._drain()
                for task in tasks:
                    task.cancel()
        finally:
            self._owner.drop(self.shards.owned.values())

    def stop(self) -> None:
        """Send nothing more; `run` returns when the requests in flight have ended."""
        self._signals.stop.set()

    def hurry(self) -> None:
        """Wait no longer for the requests in flight: end as if the time limit were reached."""
        self._hurried = True
        if self._time_limit is not None:
            self._time_limit.reschedule(asyncio.get_running_loop().time() + self._left_after_hurry)

    async def _drain(self) -> None:
        """Wait for the requests in flight, write all outcomes, and give the shards back."""
        hit("drain.start")
        time = asyncio.get_running_loop().time
        ends_at = time() + (0.0 if self._hurried else self._limits.grace)
        try:
            async with asyncio.timeout_at(ends_at) as self._time_limit:
                while not self._all_quiet():  # noqa: ASYNC110  asked for once, at the very end
                    await asyncio.sleep(RULE.tick)
            self._left_after_hurry = LEAVING
            async with asyncio.timeout_at(max(ends_at, time() + LEAVING)) as self._time_limit:
                await self._owner.leave(list(self.shards.owned.values()))
                await self.shards.retire()
        except TimeoutError:
            log.warning("stopped with attempts in flight")
        except StoreError as error:
            log.warning("stopped, but the last outcomes could not be written: %s", error)
        else:
            self.drained = True
        finally:
            self._time_limit = None
        # After an error no shard is given back: the next owner waits until the leases have ended.

    def _all_quiet(self) -> bool:
        """Stop all sends; return whether no request is in flight and no outcome is unwritten."""
        owned = list(self.shards.owned.values())
        for shard in owned:
            shard.held.leave()
        return all(shard.is_quiet for shard in owned)

    # --- Its parts, and their steps -------------------------------------------------------------

    async def _read_clock(self) -> Clock:
        """Return a clock with the database's time, from an answer that did not take long.

        A slow answer, for instance of a worker that was suspended meanwhile, would make the clock
        wrong. The next comparison would then look as if the database's clock had stepped.
        """
        while True:
            asked_at = self._source()
            database = (await self._store.server()).now
            if self._source() - asked_at <= self._limits.lease / 3:  # less does not count as a step
                return Clock(database, self._source)

    def _put_together(self, clock: Clock) -> None:
        """Create the parts, each from the parts before it."""
        store, signals = self._store, self._signals
        self.context = context = Context(
            now=clock,
            wall=clock.wall,
            later=asyncio.get_running_loop().call_later,
            draw=self._draw,
            chance=self._chance,
            sender=self._sender,
            limits=self._limits,
            parking=self._parking,
        )
        self.work = work = Work[Lane](signals)
        worker = ids.make("worker_", now=clock(), entropy=self._chance(ids.CHANCE))
        self.shards = shards = Shards(store, worker, self._limits, clock)
        self.origins = origins = Origins(store, context, work, worker)
        self.loader = loader = LaneLoader(
            store,
            context,
            work=work,
            shards=shards,
            origins=origins,
            seals=self._seals,
            egress=self._egress,
            policy=self._policy,
        )
        sleep = Sleep(store, context, work, shards)
        self._writer = writer = SettlementWriter(store, context, work, sleep)
        self._owner = Owner(
            store,
            context=context,
            work=work,
            shards=shards,
            loader=loader,
            writer=writer,
            signals=signals,
        )
        self._put_upkeep_together(loader)

    def _put_upkeep_together(self, loader: LaneLoader) -> None:
        """Create the parts that do all work other than deliveries."""
        store, context, shards = self._store, self.context, self.shards
        trials = TaskTrials(store, context, shards)
        self._counts = Counts(store, context, shards, trials)
        self._upkeep = Upkeep(
            store,
            context=context,
            shards=shards,
            loader=loader,
            tasks=Tasks(store, context, shards, loader, trials),
            signals=self._signals,
            kept=self._kept,
        )
        self.watchdog = Watchdog(store, context, shards, loader)

    def _loops(self) -> list[Coroutine[None, None, None]]:
        """Return the loops that run side by side: each step with its interval and its signal."""
        signals, limits = self._signals, self._limits
        return [
            self._repeat(self._owner.renew_once, limits.lease / 3, signals.renew),
            self._repeat(self._owner.own_once, limits.lease / 3, signals.own),
            self._repeat(self.loader.load_once, limits.look, signals.load),
            self._repeat(self.loader.read_rows_for_all, None, signals.read_rows),
            self._repeat(self._writer.settle_all, None, signals.settle),
            self._repeat(self._tick_all, None, signals.tick),
            self._repeat(self.origins.share, None, signals.share),
            self._repeat(self._upkeep.upkeep_once, limits.look, signals.upkeep),
            self._repeat(self._counts.count_all, limits.look),
            self._repeat(self._send_notices, limits.look),
            self._repeat(self.watchdog.look_once, limits.watch),
            self._repeat(self._upkeep.keep_up, limits.keep_up),
        ]

    async def _repeat(
        self,
        step: Callable[[], Awaitable[None]],
        every: float | None,
        signal: asyncio.Event | None = None,
    ) -> None:
        """Run a step again and again; after errors of the store, have all lanes read again."""
        recovered = self._owner.read_all_again
        await repeat(step, every, signal=signal, draw=self._draw, recovered=recovered)

    async def _tick_all(self) -> None:
        """Have lanes and origins evaluate their answers every tick, as long as they need to."""
        while self.work.ticking:
            now = self.context.now()
            for ticking in list(self.work.ticking):
                if not ticking.tick(now):
                    self.work.stop_ticking(ticking)
            await asyncio.sleep(RULE.tick)

    async def _send_notices(self) -> None:
        """Send new notices to operational webhooks."""
        while await self._notices.send_once(self.shards.numbers, self.context.now()):
            pass
