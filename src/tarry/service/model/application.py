"""An application: a tenant, whose endpoints get its messages."""

import zlib

from msgspec import Struct

SHARDS = 64
"""How many parts the lanes are split into; a worker owns some of them, each with all its lanes."""


class Application(Struct, frozen=True, kw_only=True):
    """A tenant of an environment.

    `rate` is how many attempts a second all its endpoints together get at the most. `policy` is a
    policy document in JSON, for endpoints that have none of their own. `most_waiting` is how many
    of its deliveries may wait before new messages are turned away.
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
        """Where all its lanes are: with one owner, so that its limits are exact."""
        return shard_of(self.id)


def shard_of(application: str) -> int:
    """The shard of an application's lanes; every process agrees on it."""
    return zlib.crc32(application.encode()) % SHARDS
