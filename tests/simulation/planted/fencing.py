"""Bugs in the fences of settlements, and in the ownership of shards."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from tarry.service.model.application import shard_of
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import Delivery
from tarry.service.model.lane import Lease
from tarry.service.store.memory.data import Data
from tests.simulation.planted.bug import Bug, Commit

Settlements = Sequence[Settlement | Resent]


def good_leases(data: Data) -> list[Lease]:
    """Return the leases that are valid now, of any worker."""
    return [
        Lease(number, shard.epoch, shard.worker)
        for number, shard in enumerate(data.shards)
        if shard.worker
    ]


class _Unfenced(Bug):
    """Lets settlements pass that a fence would stop."""

    def settle(
        self, commit: Commit, settlements: Settlements, changes: object, leases: Iterable[Lease]
    ) -> object:
        """Settle without that fence."""
        return commit([self._unfenced(one) for one in settlements], changes, leases)

    def _unfenced(self, settlement: Settlement | Resent) -> Settlement | Resent:
        if isinstance(settlement, Resent):
            return settlement
        lane = self.data.lanes.get(settlement.lane)
        delivery = None if lane is None else lane.deliveries.get(settlement.seq)
        return settlement if delivery is None else self._as_if(settlement, delivery)

    def _as_if(self, settlement: Settlement, delivery: Delivery) -> Settlement:
        raise NotImplementedError


class FenceWithoutTries(_Unfenced):
    """A delivery that was sent again since is settled only by its last attempt."""

    story = "a settlement does not check whether its delivery was tried again since"

    def settle(
        self, commit: Commit, settlements: Settlements, changes: object, leases: Iterable[Lease]
    ) -> object:
        """Settle under whatever lease is good now."""
        del leases
        return super().settle(commit, settlements, changes, good_leases(self.data))

    def _as_if(self, settlement: Settlement, delivery: Delivery) -> Settlement:
        application = self.data.lanes[settlement.lane].endpoint.application
        epoch = self.data.shards[shard_of(application)].epoch
        return replace(settlement, tries=delivery.tries, epoch=epoch)


class FenceWithoutMessage(_Unfenced):
    """After a failover the same number may belong to another message."""

    story = "a settlement does not check which message it is about"

    def _as_if(self, settlement: Settlement, delivery: Delivery) -> Settlement:
        return replace(settlement, message=delivery.message, tries=delivery.tries)


class LateCommit(Bug):
    """The writes of a worker that has lost its lease change nothing."""

    story = "a settlement counts although its lease has been lost"

    def settle(
        self, commit: Commit, settlements: Settlements, changes: object, leases: object
    ) -> object:
        """Settle under whatever lease is good now."""
        del leases
        return commit([self._now(one) for one in settlements], changes, good_leases(self.data))

    def _now(self, settlement: Settlement | Resent) -> Settlement | Resent:
        lane = self.data.lanes.get(settlement.lane)
        if lane is None or isinstance(settlement, Resent):
            return settlement
        shard = self.data.shards[shard_of(lane.endpoint.application)]
        return replace(settlement, epoch=shard.epoch)


class DoubleOwner(Bug):
    """A shard has one owner at a time."""

    story = "a shard is given to a worker while another one owns it"

    def lease(self, commit: Commit, worker: str, **kwargs: Any) -> object:  # noqa: ANN401  passed on
        """Forget the owners before the shards are leased."""
        for shard in self.data.shards:
            if shard.worker != worker:
                shard.until = 0.0
        return commit(worker, **kwargs)


class ShortLease(Bug):
    """A worker sends only while it owns the shard."""

    story = "a lease ends sooner than its owner was told"

    def lease(self, commit: Commit, worker: str, *, most: int, length: float) -> object:
        """Give a quarter of the time."""
        return commit(worker, most=most, length=length / 4)

    def renew(self, commit: Commit, worker: str, leases: object, *, length: float) -> object:
        """Likewise."""
        return commit(worker, leases, length=length / 4)


class CleanTakeover(Bug):
    """The previous owner of an ordered lane may have left a request in flight."""

    story = "a shard whose owner died counts as given back in order"

    def lease(self, commit: Commit, *args: Any, **kwargs: Any) -> list[Lease]:  # noqa: ANN401  passed on
        """Say that nothing was left behind."""
        return [
            Lease(lease.shard, lease.epoch, lease.worker, clean=True)
            for lease in commit(*args, **kwargs)
        ]
