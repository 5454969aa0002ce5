"""An application: a tenant, whose endpoints get its messages. `Shares` is fair to applications."""

import zlib

from msgspec import Struct

SHARDS = 64
"""How many shards the lanes are split into; a worker owns some shards with all their lanes."""


class Application(Struct, frozen=True, kw_only=True):
    """A tenant of an environment.

    `rate` limits the attempts per second of all its endpoints together. `policy` is a policy
    document in JSON, for endpoints that have none of their own. With `most_waiting` deliveries
    waiting, new messages are refused.
    """

    id: str
    environment: str
    name: str
    uid: str | None = None
    rate: float | None = None
    policy: str | None = None
    most_waiting: int | None = None
    metadata: dict[str, str] = {}
    created_at: float
    updated_at: float

    @property
    def shard(self) -> int:
        """The shard of all its lanes: they have one owner, so that its limits are exact."""
        return shard_of(self.id)


def shard_of(application: str) -> int:
    """Return the shard of an application's lanes; it is the same in every process."""
    return zlib.crc32(application.encode()) % SHARDS


class Shares:
    """Counts places by owner, so that each application has its fair share of them.

    A place is a request in flight, an outcome to write, or a thread. No owner holds more places
    than are free: one owner alone may have half of them, two a third each, and a new owner finds
    some left.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._held: dict[str, int] = {}

    @property
    def free(self) -> int:
        """How many places are free."""
        return self._free

    def held(self, owner: str) -> int:
        """Return how many places an owner holds."""
        return self._held.get(owner, 0)

    def allows(self, owner: str, besides: int = 0) -> bool:
        """Return whether an owner may take a place; `besides` counts as places held here."""
        return self.held(owner) + besides < self._free

    def take(self, owner: str) -> None:
        """Give an owner a place, whether `allows` says that it may have one or not."""
        self._free -= 1
        self._held[owner] = self.held(owner) + 1

    def give_back(self, owner: str) -> None:
        """Take a place back from an owner."""
        self._free += 1
        held = self._held[owner] - 1
        if held:
            self._held[owner] = held
        else:
            del self._held[owner]
