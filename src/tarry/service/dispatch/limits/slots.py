"""Shares the slots of a process, one for each request in flight, fairly by tenant and by lane.

No tenant may hold more slots than are free: one alone may have half of them, two a third each, and
a new tenant always finds some. Slots that become free go to the tenants in turn.
"""

from collections import deque
from typing import Protocol

PASSED_OVER = 8
"""How many tenants that have their share are skipped, at most, when a slot becomes free."""


class Claimant(Protocol):
    """A lane that needs slots."""

    @property
    def tenant(self) -> str:
        """The application that the lane belongs to."""

    @property
    def in_flight(self) -> int:
        """How many slots it holds."""

    def pump(self) -> None:
        """Send what may be sent now."""


class Slots:
    """The slots of a process, and the lanes that wait for one."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._held: dict[str, int] = {}
        self._waiting: dict[str, deque[Claimant]] = {}
        self._queued: set[int] = set()

    @property
    def free(self) -> int:
        """How many slots are free."""
        return self._free

    def room(self, claimant: Claimant) -> int:
        """Return how many more slots a lane could take now."""
        held = max(claimant.in_flight, self._held.get(claimant.tenant, 0))
        return max(0, self._free - held)

    def take(self, claimant: Claimant) -> bool:
        """Take a slot and return True; otherwise queue the lane for one and return False."""
        tenant = claimant.tenant
        held = self._held.get(tenant, 0)
        if held >= self._free:
            if id(claimant) not in self._queued:
                self._queued.add(id(claimant))
                self._waiting.setdefault(tenant, deque()).append(claimant)
            return False
        self._free -= 1
        self._held[tenant] = held + 1
        return True

    def give_back(self, claimant: Claimant) -> None:
        """Free a slot."""
        self._free += 1
        held = self._held[claimant.tenant] - 1
        if held:
            self._held[claimant.tenant] = held
        else:
            del self._held[claimant.tenant]

    def serve(self) -> None:
        """Let lanes send that wait for a slot, one tenant after the other.

        A tenant that is skipped holds slots: it is served when one of them becomes free.
        """
        passed_over = 0
        while self._waiting and self._free and passed_over < PASSED_OVER:
            tenant = next(iter(self._waiting))
            if self._held.get(tenant, 0) >= self._free:
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
