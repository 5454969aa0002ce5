"""Who may send when a process can do no more at a time: fair between tenants, and between lanes.

Nobody may hold more slots than are free: one alone may have half of them, two a third each, and
whoever comes new always finds some. Slots that come free go round the applications in turn.
"""

from collections import deque
from typing import Protocol

PASSED_OVER = 8
"""How many tenants that have their share are passed over when a slot comes free: not all."""


class Claimant(Protocol):
    """A lane, as far as slots are concerned."""

    @property
    def tenant(self) -> str:
        """Whose it is."""

    @property
    def in_flight(self) -> int:
        """How many slots it holds."""

    def pump(self) -> None:
        """Send what it may."""


class Slots:
    """A number of slots, and the lanes that wait for one."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._held: dict[str, int] = {}
        self._waiting: dict[str, deque[Claimant]] = {}
        self._queued: set[int] = set()

    @property
    def free(self) -> int:
        """How many are left."""
        return self._free

    def room(self, claimant: Claimant) -> int:
        """How many more it could have now."""
        held = max(claimant.in_flight, self._held.get(claimant.tenant, 0))
        return max(0, self._free - held)

    def take(self, claimant: Claimant) -> bool:
        """Take a slot, or be told when one is free."""
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
        """A slot is free again."""
        self._free += 1
        held = self._held[claimant.tenant] - 1
        if held:
            self._held[claimant.tenant] = held
        else:
            del self._held[claimant.tenant]

    def serve(self) -> None:
        """Let those send that wait for a slot, one tenant after the other.

        Who is passed over holds slots: it will be looked at again when they come free.
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
        """It does not want any more."""
        if id(claimant) in self._queued:
            self._queued.discard(id(claimant))
            lanes = self._waiting[claimant.tenant]
            lanes.remove(claimant)
            if not lanes:
                del self._waiting[claimant.tenant]
