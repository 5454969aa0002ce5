"""Leases of shards in the memory store, and the lanes that are awake or were woken."""

from collections.abc import Iterable, Mapping, Sequence

from tarry.service.model.application import shard_of
from tarry.service.model.lane import Lease
from tarry.service.store.contract import TOO_LONG, Nudge, Server
from tarry.service.store.memory.data import Data
from tarry.service.store.memory.lane import Lane


class MemoryLeases:
    """The part of `contract.Queue` about leases and wake-ups."""

    _data: Data

    async def lease(self, worker: str, *, most: int, length: float) -> list[Lease]:
        """Take shards that are free or whose lease has ended, until `worker` owns `most` shards."""
        now = self._data.clock()
        latest = now + TOO_LONG * length
        alive = {name: until for name, until in self._data.workers.items() if until <= latest}
        self._data.workers = alive | {worker: now + length}
        taken = [shard for shard in self._data.shards if shard.until > now]
        room = most - sum(shard.worker == worker for shard in taken)
        leases: list[Lease] = []
        for number, shard in enumerate(self._data.shards):
            if len(leases) < room and not now < shard.until <= latest:
                clean = not shard.worker
                shard.worker, shard.epoch, shard.until = worker, shard.epoch + 1, now + length
                leases.append(Lease(number, shard.epoch, worker, clean))
        return leases

    async def renew(self, worker: str, leases: Sequence[Lease], *, length: float) -> list[Lease]:
        """Extend the leases; return those that are still owned."""
        until = self._data.clock() + length
        self._data.workers[worker] = until
        owned = [lease for lease in leases if lease.worker == worker and self._data.holds(lease)]
        for lease in owned:
            self._data.shards[lease.shard].until = until
        return owned

    async def release(self, leases: Sequence[Lease]) -> None:
        """Give shards back."""
        for lease in leases:
            if self._data.holds(lease):
                shard = self._data.shards[lease.shard]
                shard.worker, shard.until = "", 0.0

    async def server(self) -> Server:
        """Return the time that leases use, and the number of live workers."""
        now = self._data.clock()
        return Server(now, 0.0, sum(until > now for until in self._data.workers.values()))

    async def awake(self, shards: Sequence[int]) -> list[int]:
        """Return the lanes of these shards that are not at rest."""
        return [
            lane.number
            for lane in self._in_shards(self._data.lanes.values(), shards)
            if not lane.resting
        ]

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        """Return the lanes of these shards that were woken since the last call, each once."""
        if not self._data.woken:
            return []
        lanes = (self._data.lanes[number] for number in sorted(self._data.woken))
        held = [lease.shard for lease in leases if self._data.holds(lease)]
        woken = [lane.number for lane in self._in_shards(lanes, held)]
        self._data.woken.difference_update(woken)
        return woken

    def listen(self, nudge: Nudge) -> None:
        """Call `nudge()` soon after a lane was woken."""
        self._data.nudges.append(nudge)

    async def rest(
        self, lanes: Mapping[int, int], leases: Iterable[Lease], *, doze: bool = False
    ) -> set[int]:
        """Put lanes to rest that have nothing to send, or let lanes doze; return their numbers."""
        affected = [lane for lane in self._up_to_date(lanes, leases) if doze or lane.idle]
        for lane in affected:
            if doze:
                lane.dozing = True
            else:
                lane.resting = True
        return {lane.number for lane in affected}

    def _up_to_date(self, lanes: Mapping[int, int], leases: Iterable[Lease]) -> list[Lane]:
        """Return the lanes that got no more deliveries than their owner knows."""
        lease_list = list(leases)
        held = (self._data.held(number, lease_list) for number in lanes)
        return [lane for lane in held if lane is not None and lane.added <= lanes[lane.number]]

    @staticmethod
    def _in_shards(lanes: Iterable[Lane], shards: Sequence[int]) -> list[Lane]:
        """Return those lanes whose applications are in these shards."""
        shard_numbers = set(shards)
        return [lane for lane in lanes if shard_of(lane.endpoint.application) in shard_numbers]
