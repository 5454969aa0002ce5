"""An application: a tenant, whose endpoints get its messages."""

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
