"""Which shards this process owns: taken, kept, given back when others want their share.

A lease is renewed at a third of its time. Nothing is sent for a shard in the last moments of its
lease, on a clock that counts suspension too: who takes over may start when it has ended.

A step of the database's clock makes the leases of workers that are alive look ended, or those of
dead ones look good. So after a step nothing is taken for the length of a lease: by then all that
are alive have renewed theirs.
"""

import logging
import math
from collections.abc import Iterator

from tarry.service.dispatch.clock import Clock
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.ownership.held_lease import HeldLease
from tarry.service.model.application import SHARDS, shard_of
from tarry.service.model.lane import Lease
from tarry.service.model.settings import Limits
from tarry.service.store.contract import Queue

log = logging.getLogger("tarry.service")

# --- One shard ----------------------------------------------------------------------------------


class OwnedShard:
    """The lease of a shard, and the lanes that were loaded under it."""

    __slots__ = ("held", "is_known", "lanes")

    def __init__(self, held: HeldLease) -> None:
        self.held = held
        self.is_known = False
        """Whether all its lanes that are awake are in memory, or on the list of lanes to load."""
        self.lanes: dict[int, Lane] = {}

    @property
    def lease(self) -> Lease:
        """The lease itself."""
        return self.held.lease

    @property
    def is_quiet(self) -> bool:
        """Whether no lane of it has a request on its way or a settlement to write."""
        return all(lane.is_quiet for lane in self.lanes.values())

    def waits_for_last_owner(self, now: float) -> bool:
        """Whether an owner before this one, which was lost, may have an ordered request on its way.

        Whoever gets the shard next has to wait for that, too.
        """
        if self.lease.clean:
            return False
        waits = any(lane.waits_for_last_owner(now) for lane in self.lanes.values())
        return waits or not self.is_known

    def know(self) -> None:
        """Take in that all its lanes that are awake are known."""
        self.is_known = True

    def doubt(self) -> None:
        """Take in that lanes may be awake that nobody knows of."""
        self.is_known = False


# --- All shards of this process -----------------------------------------------------------------


class Shards:
    """The shards of one worker."""

    def __init__(self, store: Queue, worker: str, limits: Limits, clock: Clock) -> None:
        self.worker = worker
        self.owned: dict[int, OwnedShard] = {}
        self._store = store
        self._limits = limits
        self._now = clock
        self._stepped_at: float | None = None
        """When the database's clock stepped, until the length of a lease has passed since."""
        self._least = 0

    @property
    def numbers(self) -> list[int]:
        """Those that are owned and not about to be left."""
        return [number for number, shard in self.owned.items() if not shard.held.is_leaving]

    def leases(self) -> list[Lease]:
        """All leases."""
        return [shard.lease for shard in self.owned.values()]

    def lane(self, application: str, number: int) -> Lane | None:
        """A lane of an application, if it is owned and at work."""
        shard = self.owned.get(shard_of(application))
        return None if shard is None else shard.lanes.get(number)

    def lanes(self) -> Iterator[Lane]:
        """Return all lanes in memory."""
        for shard in list(self.owned.values()):
            yield from list(shard.lanes.values())

    def forget(self, lane: Lane) -> None:
        """Take a lane out of memory: it has nothing to do."""
        lane.leave()
        del self.owned[lane.held.lease.shard].lanes[lane.number]

    async def renew(self) -> list[OwnedShard]:
        """Keep what is owned; those that were lost meanwhile."""
        asked_at = self._now()
        length = self._limits.lease
        asked = dict(self.owned)  # others may be taken, or released, meanwhile
        kept = await self._store.renew(self.worker, self.leases(), length=length)
        numbers = {lease.shard for lease in kept}
        lost = []
        for number, shard in asked.items():
            if number in numbers:
                shard.held.renew(asked_at + length - self._limits.margin)
            elif self.owned.get(number) is shard:
                lost.append(self.owned.pop(number))
        return lost

    async def take(self) -> list[OwnedShard]:
        """Take as many as are this worker's share; those that are new."""
        await self._compare_clocks()
        stepped_at = self._stepped_at
        if stepped_at is not None and self._now() < stepped_at + self._limits.lease:
            return []
        self._stepped_at = None
        # The first one by itself: with it a store learns who is alive, and who cannot be any more.
        unsure = not self.owned or stepped_at is not None
        first = await self._lease(max(1, len(self.owned))) if unsure else []
        workers = max(1, await self._store.workers())
        share = math.ceil(SHARDS / workers)
        self._least = SHARDS - share * (workers - 1)  # what the others leave if each has its share
        self._leave_beyond(share)
        return first if len(self.owned) >= share else first + await self._lease(share)

    def _leave_beyond(self, share: int) -> None:
        """Leave shards beyond this worker's share, those first that have nothing on its way.

        A shard that is being left sends nothing more. One that waits for its
        last owner's requests is left later.
        """
        now, numbers = self._now(), self.numbers
        if len(numbers) > share:
            certain = [
                number for number in numbers if not self.owned[number].waits_for_last_owner(now)
            ]
            by_quiet = sorted(certain, key=lambda number: not self.owned[number].is_quiet)
            for number in by_quiet[: len(numbers) - share]:
                self.owned[number].held.leave()

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
        new = [OwnedShard(HeldLease(lease, until, self._now())) for lease in taken]
        self.owned.update({shard.lease.shard: shard for shard in new})
        return new

    @property
    def moving(self) -> bool:
        """Whether shards are about to change hands: worth looking at again soon."""
        return len(self.numbers) < self._least or any(
            shard.held.is_leaving for shard in self.owned.values()
        )

    def left(self) -> list[OwnedShard]:
        """Those to be left that have nothing on its way any more."""
        return [shard for shard in self.owned.values() if shard.held.is_leaving and shard.is_quiet]

    async def release(self, left: list[OwnedShard]) -> None:
        """Give them back. If one waits for its last owner, its lease ends as if it were lost."""
        now = self._now()
        await self._store.release(
            [shard.lease for shard in left if not shard.waits_for_last_owner(now)]
        )
        for shard in left:
            self.owned.pop(shard.lease.shard, None)

    async def retire(self) -> None:
        """Count as alive no longer, so that others take over at once."""
        await self._store.renew(self.worker, [], length=0.0)
