"""The slots that the lanes of a process share, and the lanes that wait for one.

A process has slots for requests in flight, and slots for attempts whose outcomes are not written
yet. Each tenant has its share of them (`model/shares.py`), so the tenant that holds the most is the
first to wait. Slots that become free go to the tenants in turn.
"""

from collections import deque
from typing import Protocol

from tarry.service.model.shares import Shares

PASSED_OVER = 8
"""How many tenants that have their share are skipped, at most, when a slot becomes free."""


class Claimant(Protocol):
    """A lane that needs slots."""

    @property
    def tenant(self) -> str:
        """The application that the lane belongs to."""

    def pump(self) -> None:
        """Send what may be sent now."""


class Slots:
    """A number of slots, and the lanes that wait for one."""

    def __init__(self, most: int) -> None:
        self._shares = Shares(most)
        self._waiting: dict[str, deque[Claimant]] = {}
        self._queued: set[int] = set()

    @property
    def free(self) -> int:
        """How many slots are free."""
        return self._shares.free

    def room(self, claimant: Claimant) -> int:
        """Return how many more slots are free than the lane's tenant holds."""
        return max(0, self._shares.free - self._shares.held(claimant.tenant))

    def take(self, claimant: Claimant) -> bool:
        """Take a slot and return True; otherwise queue the lane for one and return False."""
        tenant = claimant.tenant
        if not self._shares.allows(tenant):
            if id(claimant) not in self._queued:
                self._queued.add(id(claimant))
                self._waiting.setdefault(tenant, deque()).append(claimant)
            return False
        self._shares.take(tenant)
        return True

    def take_anyway(self, claimant: Claimant) -> None:
        """Take a slot, also beyond the tenant's share: for something that cannot wait."""
        self._shares.take(claimant.tenant)

    def give_back(self, claimant: Claimant) -> None:
        """Free a slot."""
        self._shares.give_back(claimant.tenant)

    def serve(self) -> None:
        """Let lanes send that wait for a slot, one tenant after the other.

        Call it for each slot that became free. A tenant that is skipped holds slots: it is served
        when one of them becomes free.
        """
        passed_over = 0
        while self._waiting and self._shares.free > 0 and passed_over < PASSED_OVER:
            tenant = next(iter(self._waiting))
            if not self._shares.allows(tenant):
                self._waiting[tenant] = self._waiting.pop(tenant)
                passed_over += 1
                continue
            lanes = self._waiting.pop(tenant)
            lane = lanes.popleft()
            self._queued.discard(id(lane))
            if lanes:
                self._waiting[tenant] = lanes
            lane.pump()

    def forget(self, claimant: Claimant) -> None:
        """Remove a lane from the queue."""
        if id(claimant) in self._queued:
            self._queued.discard(id(claimant))
            lanes = self._waiting[claimant.tenant]
            lanes.remove(claimant)
            if not lanes:
                del self._waiting[claimant.tenant]
