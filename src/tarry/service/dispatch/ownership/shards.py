"""The shards that this process owns: taken, renewed, and given back when others want their share.

A lease is renewed after a third of its time. Nothing is sent for a shard in the last moments of its
lease, by a clock that includes suspension: the next owner may start as soon as the lease has ended.

A step of the database's clock can make leases of living workers look ended, and leases of dead
workers look valid. So no shard is taken for the length of a lease after a step: by then all living
workers have renewed their leases.
"""

import logging
import math
from collections.abc import Iterator

from tarry.service.dispatch.clock import Clock
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.ownership.held_lease import HeldLease
from tarry.service.model.application import SHARDS
from tarry.service.model.lane import Lease
from tarry.service.model.settings import Limits
from tarry.service.store.contract import Queue, Server

log = logging.getLogger("tarry.service")

# --- One shard ----------------------------------------------------------------------------------


class OwnedShard:
    """The lease of a shard, and the lanes that were loaded under it."""

    __slots__ = ("held", "is_complete", "lanes", "times_incomplete", "was_complete")

    def __init__(self, held: HeldLease) -> None:
        self.held = held
        self.is_complete = False
        """Whether all its awake lanes are in memory or on the list of lanes to load."""
        self.was_complete = False
        """Whether it was complete once. Lanes that are found later were at rest, so no earlier
        owner has a request of them in flight."""
        self.times_incomplete = 0
        """How often `mark_incomplete` was called: also while its lanes are being read."""
        self.lanes: dict[int, Lane] = {}

    @property
    def lease(self) -> Lease:
        """The lease itself."""
        return self.held.lease

    @property
    def is_quiet(self) -> bool:
        """Whether no lane of the shard has a request in flight or a settlement to write."""
        return all(lane.is_quiet for lane in self.lanes.values())

    def waits_for_last_owner(self, now: float) -> bool:
        """Return whether a lost earlier owner may have a request of an ordered lane in flight.

        The next owner of the shard has to wait for that request, too.
        """
        if self.lease.clean:
            return False
        waits = any(lane.waits_for_last_owner(now) for lane in self.lanes.values())
        return waits or not self.was_complete

    def mark_complete(self, times_incomplete: int) -> None:
        """Mark that all awake lanes are in memory or on the list of lanes to load.

        `times_incomplete` is from before the lanes were read. If `mark_incomplete` was called since
        then, the shard stays incomplete.
        """
        self.was_complete = True
        self.is_complete = times_incomplete == self.times_incomplete

    def mark_incomplete(self) -> None:
        """Mark that the shard may have awake lanes that are neither in memory nor on the list."""
        self.is_complete = False
        self.times_incomplete += 1


# --- All shards of this process -----------------------------------------------------------------


class Shards:
    """The shards of one worker."""

    def __init__(self, store: Queue, worker: str, limits: Limits, clock: Clock) -> None:
        self.worker = worker
        self.owned: dict[int, OwnedShard] = {}
        self._lanes: dict[int, Lane] = {}
        """All lanes in memory, by number."""
        self.missing: dict[int, int] = {}
        """The lanes that the watchdog did not find in memory at its last look, and their first
        ready row. A lane that has been loaded since is no longer among them."""
        self._store = store
        self._limits = limits
        self._now = clock
        self._stepped_at: float | None = None
        """When the database's clock stepped, until the length of a lease has passed since."""
        self._least = 0

    @property
    def numbers(self) -> list[int]:
        """The numbers of the owned shards that are not about to be handed over."""
        return [number for number, shard in self.owned.items() if not shard.held.is_leaving]

    def leases(self) -> list[Lease]:
        """Return the leases of all owned shards."""
        return [shard.held.lease for shard in self.owned.values()]

    def lanes(self) -> Iterator[Lane]:
        """Yield all lanes in memory."""
        for shard in list(self.owned.values()):
            yield from list(shard.lanes.values())

    def lane(self, number: int) -> Lane | None:
        """Return the lane with this number; None if it is not in memory."""
        return self._lanes.get(number)

    def add(self, shard: OwnedShard, lane: Lane) -> None:
        """Keep a lane in memory that was loaded under the lease of this shard."""
        shard.lanes[lane.number] = self._lanes[lane.number] = lane
        self.missing.pop(lane.number, None)

    def set_missing(self, missing: dict[int, int]) -> None:
        """Set the lanes that the watchdog did not find in memory, with their first ready rows."""
        self.missing = missing

    def forget(self, lane: Lane) -> None:
        """Take a lane out of memory: it has nothing to do, or does not exist any more."""
        lane.leave()
        shard = self.owned.get(lane.held.lease.shard)
        if shard is not None and shard.lanes.get(lane.number) is lane:
            del shard.lanes[lane.number]
        if self._lanes.get(lane.number) is lane:
            del self._lanes[lane.number]

    def clear(self, shard: OwnedShard) -> None:
        """Take all lanes of a shard out of memory: it is not owned any more."""
        for lane in list(shard.lanes.values()):
            lane.leave()
            if self._lanes.get(lane.number) is lane:
                del self._lanes[lane.number]
        shard.lanes.clear()

    async def renew(self) -> list[OwnedShard]:
        """Renew all leases; return the shards that were lost meanwhile."""
        asked_at = self._now()
        lease_seconds = self._limits.lease
        owned = dict(self.owned)  # others may be taken, or released, meanwhile
        renewed = await self._store.renew(self.worker, self.leases(), length=lease_seconds)
        numbers = {lease.shard for lease in renewed}
        lost = []
        for number, shard in owned.items():
            if number in numbers:
                shard.held.renew(asked_at + lease_seconds - self._limits.margin)
            elif self.owned.get(number) is shard:
                lost.append(self.owned.pop(number))
        return lost

    async def take(self) -> list[OwnedShard]:
        """Take shards up to this worker's share; return the new ones."""
        server = await self._compare_clocks()
        stepped_at = self._stepped_at
        if stepped_at is not None and self._now() < stepped_at + self._limits.lease:
            return []
        self._stepped_at = None
        # Take the first shard alone: by that the store learns which workers are alive, and which
        # cannot be alive any more.
        first: list[OwnedShard] = []
        if not self.owned or stepped_at is not None:
            first = await self._lease(max(1, len(self.owned)))
            server = await self._store.server()
        workers = max(1, server.workers)
        share = math.ceil(SHARDS / workers)
        self._least = SHARDS - share * (workers - 1)  # the rest, if all others have their share
        self._leave_beyond(share)
        return first if len(self.owned) >= share else first + await self._lease(share)

    def _leave_beyond(self, share: int) -> None:
        """Start to hand over shards beyond this worker's share, quiet ones first.

        A shard that is being handed over sends nothing more. A shard that waits for the requests
        of its last owner is handed over later.
        """
        now, numbers = self._now(), self.numbers
        if len(numbers) > share:
            certain = [
                number for number in numbers if not self.owned[number].waits_for_last_owner(now)
            ]
            by_quiet = sorted(certain, key=lambda number: not self.owned[number].is_quiet)
            for number in by_quiet[: len(numbers) - share]:
                self.owned[number].held.leave()

    async def _compare_clocks(self) -> Server:
        """Check whether the database's clock has stepped, and remember when. Return its answer."""
        asked_at = self._now()
        server = await self._store.server()
        step = self._now.compare(server.now, asked_at=asked_at)
        if abs(step) > self._limits.lease / 3:  # less ends no lease that is renewed on time
            self._stepped_at = self._now()
            log.warning(
                "The database's clock stepped by %+.1f s. Waits go on unchanged. No shards are"
                " taken from other workers for %g s.",
                step,
                self._limits.lease,
            )
        return server

    async def _lease(self, most: int) -> list[OwnedShard]:
        """Lease up to `most` more shards; add them to the owned ones and return them."""
        asked_at = self._now()
        lease_seconds = self._limits.lease
        taken = await self._store.lease(self.worker, most=most, length=lease_seconds)
        until = asked_at + lease_seconds - self._limits.margin
        new = [OwnedShard(HeldLease(lease, until, self._now())) for lease in taken]
        self.owned.update({shard.lease.shard: shard for shard in new})
        return new

    @property
    def moving(self) -> bool:
        """Whether shards are being handed over, so that another look is worth it soon."""
        return len(self.numbers) < self._least or any(
            shard.held.is_leaving for shard in self.owned.values()
        )

    def left(self) -> list[OwnedShard]:
        """Return the shards to hand over that have no request in flight and nothing to write."""
        return [shard for shard in self.owned.values() if shard.held.is_leaving and shard.is_quiet]

    async def release(self, left: list[OwnedShard]) -> None:
        """Give shards back. The lease of one that waits for its last owner is left to run out."""
        now = self._now()
        await self._store.release(
            [shard.lease for shard in left if not shard.waits_for_last_owner(now)]
        )
        for shard in left:
            self.owned.pop(shard.lease.shard, None)

    async def retire(self) -> None:
        """Stop counting as alive, so that other workers take over at once."""
        await self._store.renew(self.worker, [], length=0.0)
