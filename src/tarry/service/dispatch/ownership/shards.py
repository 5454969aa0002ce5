"""Which shards this process owns: taken, kept, given back when others want their share.

A lease is renewed at a third of its time. Nothing is sent for a shard in the last moments of its
lease, on a clock that counts suspension too: who takes over may start when it has ended.

A step of the database's clock makes the leases of workers that are alive look ended, or those of
dead ones look good. So after a step nothing is taken for the length of a lease: by then all that
are alive have renewed theirs.
"""

import logging
import math
from typing import TYPE_CHECKING

from tarry.service.dispatch.clock import Clock
from tarry.service.dispatch.context import OwnedShard
from tarry.service.model.application import SHARDS, shard_of
from tarry.service.model.lane import Lease
from tarry.service.model.settings import Limits
from tarry.service.store.contract import Queue

if TYPE_CHECKING:
    from tarry.service.dispatch.lane.lane import Lane

log = logging.getLogger("tarry.service")


class Shards:
    """The shards of one worker."""

    def __init__(self, store: Queue, worker: str, limits: Limits, clock: Clock) -> None:
        self.worker = worker
        self.held: dict[int, OwnedShard] = {}
        self._store = store
        self._limits = limits
        self._now = clock
        self._stepped_at: float | None = None
        """When the database's clock stepped, until the length of a lease has passed since."""
        self._least = 0

    @property
    def numbers(self) -> list[int]:
        """Those that are owned and not about to be left."""
        return [number for number, held in self.held.items() if not held.leaving]

    def leases(self) -> list[Lease]:
        """All leases."""
        return [held.lease for held in self.held.values()]

    def lane(self, application: str, number: int) -> "Lane | None":
        """A lane of an application, if it is owned and at work."""
        held = self.held.get(shard_of(application))
        return None if held is None else held.lanes.get(number)

    async def renew(self) -> list[OwnedShard]:
        """Keep what is owned; those that were lost meanwhile."""
        asked_at = self._now()
        length = self._limits.lease
        kept = await self._store.renew(self.worker, self.leases(), length=length)
        owned = {lease.shard: lease for lease in kept}
        lost = [self.held.pop(number) for number in list(self.held) if number not in owned]
        for held in self.held.values():
            held.until = asked_at + length - self._limits.margin
        return lost

    async def take(self) -> list[OwnedShard]:
        """Take as many as are this worker's share; those that are new."""
        await self._compare_clocks()
        stepped_at = self._stepped_at
        if stepped_at is not None and self._now() < stepped_at + self._limits.lease:
            return []
        self._stepped_at = None
        # The first one by itself: with it a store learns who is alive, and who cannot be any more.
        unsure = not self.held or stepped_at is not None
        first = await self._lease(max(1, len(self.held))) if unsure else []
        workers = max(1, await self._store.workers())
        share = math.ceil(SHARDS / workers)
        self._least = SHARDS - share * (workers - 1)  # what the others leave if each has its share
        # A shard that is being left sends nothing more: those with requests on their way stay.
        by_quiet = sorted(self.numbers, key=lambda number: not self.held[number].quiet)
        for number in by_quiet[: max(0, len(by_quiet) - share)]:
            self.held[number].leaving = True
        return first if len(self.held) >= share else first + await self._lease(share)

    async def _compare_clocks(self) -> None:
        """Find out whether the database's clock has stepped."""
        asked_at = self._now()
        step = self._now.compare(await self._store.clock(), asked_at=asked_at)
        if abs(step) > self._limits.lease / 3:  # less ends no lease that is renewed in time
            self._stepped_at = self._now()
            log.warning(
                "The database's clock stepped by %+.1f s. Waits go on unchanged. No shards are"
                " taken from other workers for %g s.",
                step,
                self._limits.lease,
            )

    async def _lease(self, most: int) -> list[OwnedShard]:
        asked_at = self._now()
        length = self._limits.lease
        taken = await self._store.lease(self.worker, most=most, length=length)
        until = asked_at + length - self._limits.margin
        new = [OwnedShard(lease, until, self._now()) for lease in taken]
        self.held.update({held.lease.shard: held for held in new})
        return new

    @property
    def moving(self) -> bool:
        """Whether shards are about to change hands: worth looking at again soon."""
        return len(self.numbers) < self._least or any(held.leaving for held in self.held.values())

    def left(self) -> list[OwnedShard]:
        """Those to be left that have nothing on its way any more."""
        return [held for held in self.held.values() if held.leaving and held.quiet]

    async def release(self, left: list[OwnedShard]) -> None:
        """Give them back."""
        await self._store.release([held.lease for held in left])
        for held in left:
            self.held.pop(held.lease.shard, None)

    async def retire(self) -> None:
        """Count as alive no longer, so that others take over at once."""
        await self._store.renew(self.worker, [], length=0.0)
