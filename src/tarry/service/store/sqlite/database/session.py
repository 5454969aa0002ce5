"""A connection for writing, with a cache that is kept between transactions.

The cache holds values that never change (a lane's shard), and values with a version that is read in
the same transaction (an application's endpoints). A rollback clears it, because it may hold values
from changes that were not committed.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct, json

from tarry.errors import StoreUnavailable
from tarry.service.model.audit import Action, Target
from tarry.service.model.endpoint import Subscriber
from tarry.service.model.lane import Lease
from tarry.service.model.message import Message
from tarry.service.store.sqlite.database.connection import connect
from tarry.service.store.sqlite.database.disk import Log, Room
from tarry.service.store.sqlite.database.rows import array, write_rows
from tarry.service.store.sqlite.migrate import schema
from tarry.service.store.sqlite.queries import SQL

MOST_CACHED = 10_000
"""Entries of a cache; a full cache is cleared."""
MOST_KINDS = 100
"""Kinds of messages whose lanes an audience remembers; with more, it forgets them all."""

_APPLICATIONS = json.Decoder(list[tuple[str, str, int | None, int]])
_SUBSCRIBER = json.Decoder(Subscriber)
"""It skips the other fields of a stored endpoint."""
_LANES = json.Decoder(list[tuple[int, int, int]])
_EPOCHS = json.Decoder(dict[int, int])

Goal = tuple[int, bool]
"""A lane that a message goes to, and whether the delivery is SKIPPED (endpoint disabled)."""


class Audience:
    """An application's endpoints at one version, and which of them want which messages."""

    def __init__(self, version: int, endpoints: tuple[Subscriber, ...]) -> None:
        self.version = version
        self._endpoints = endpoints
        self._goals_of_kind: dict[tuple[str, tuple[str, ...]], tuple[Goal, ...]] = {}

    def goals(self, message: Message, only: str | None = None) -> tuple[Goal, ...]:
        """Return the lanes that a message goes to; see `NewMessage` for `only`."""
        if only is not None:
            return tuple(_goal_of(endpoint) for endpoint in self._endpoints if endpoint.id == only)
        kind = (message.event_type, message.channels)
        goals = self._goals_of_kind.get(kind)
        if goals is None:
            goals = tuple(
                _goal_of(endpoint) for endpoint in self._endpoints if endpoint.wants(*kind)
            )
            if len(self._goals_of_kind) >= MOST_KINDS:
                self._goals_of_kind.clear()
            self._goals_of_kind[kind] = goals
        return goals


def _goal_of(endpoint: Subscriber) -> Goal:
    """Return an endpoint's lane, and whether its deliveries are skipped."""
    return endpoint.lane, endpoint.skips


class Tenant(Struct, frozen=True):
    """What `add` needs to know about an application."""

    environment: str
    most_waiting: int | None
    audience: Audience


class Session:
    """The connection and cache that work inside a transaction uses."""

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float],
        room: Room | None = None,
        *,
        most_waiting: int | None = None,
    ) -> None:
        self.path = path
        self.clock = clock
        self.room = room or Room(path)
        self._most_waiting = most_waiting
        self.db = connect(path)
        self._file = _identity(path)
        try:
            schema.require(self.db)
        except BaseException:
            self.db.close()
            raise
        self.log = Log(self.db, path)
        self.woke = False
        self._audiences: dict[str, Audience] = {}
        self._shards: dict[int, int] = {}

    def require_file(self) -> None:
        """Raise if the open file is no longer the one at its path, where its data would be lost.

        A person has deleted it, or has put a backup in its place.
        """
        if _identity(self.path) != self._file:
            raise StoreUnavailable(f"{self.path} was removed or replaced while it was in use")

    def forget(self) -> None:
        """Clear the cache after a rollback."""
        self._audiences.clear()
        self._shards.clear()

    def tenants(self, applications: Iterable[str]) -> dict[str, Tenant]:
        """Return those of these applications that exist, as they are in this transaction."""
        document = self.db.execute(SQL["add_applications"], (array(applications),)).get
        return {
            application_id: Tenant(
                environment,
                self._most_waiting if most_waiting is None else most_waiting,
                self._audience(application_id, version),
            )
            for application_id, environment, most_waiting, version in _APPLICATIONS.decode(document)
        }

    def _audience(self, application: str, version: int) -> Audience:
        """Return the endpoints of an application, from the cache if they have not changed."""
        audience = self._audiences.get(application)
        if audience is None or audience.version != version:
            documents = self.db.execute(SQL["add_endpoints"], (application,))
            audience = Audience(version, tuple(_SUBSCRIBER.decode(text) for (text,) in documents))
            if len(self._audiences) >= MOST_CACHED:
                self._audiences.clear()
            self._audiences[application] = audience
        return audience

    def add_to_lanes(self, deliveries: Mapping[int, int]) -> dict[int, tuple[int, bool]]:
        """Assign sequence numbers in each lane; return the last, and whether the lane is awake."""
        write_rows(
            self.db, SQL["add_to_lanes"], [(count, lane) for lane, count in deliveries.items()]
        )
        document = self.db.execute(SQL["add_last_of_lanes"], (array(deliveries),)).get
        return {lane: (last, bool(awake)) for lane, last, awake in _LANES.decode(document)}

    def shard(self, lane: int) -> int | None:
        """Return the shard of a lane; None if there is no such lane."""
        shard = self._shards.get(lane)
        if shard is None:
            shard = self.db.execute(SQL["settle_shard"], (lane,)).get
            if shard is not None:
                if len(self._shards) >= MOST_CACHED:
                    self._shards.clear()
                self._shards[lane] = shard
        return shard

    def held(self, leases: Iterable[Lease]) -> dict[int, int]:
        """Return the shards and epochs of those leases that were not taken or given back.

        The end of a lease does not matter here: it only says when other workers may take the shard.
        """
        lease_rows = [(lease.shard, lease.epoch, lease.worker) for lease in leases]
        document = json.encode(lease_rows).decode()
        return _EPOCHS.decode(self.db.execute(SQL["settle_held"], (document,)).get)

    def held_data_keys(self, keys: Iterable[str | None]) -> set[str | None]:
        """Return those of these data keys that exist; None stands for no key, and exists."""
        if not (named := {key for key in keys if key is not None}):
            return {None}
        found = self.db.execute(SQL["add_data_keys"], (array(named),))
        return {None, *(key for (key,) in found)}

    def held_for(self, lanes: Iterable[int], leases: Iterable[Lease]) -> dict[int, int]:
        """Return the epochs of the shards that hold these lanes, as far as a lease is still held.

        A worker owns many shards, and a transaction is about few of them.
        """
        shards = {self.shard(lane) for lane in lanes}
        return self.held([lease for lease in leases if lease.shard in shards])

    def write_entry(self, by: Action | None, target: Target) -> None:
        """Write an entry into the audit trail, unless nobody acts or the entry is there already."""
        if by is None:
            return
        entry = by.entry(target)
        row = {
            "id": entry.id,
            "environment": entry.environment,
            "application": entry.application,
            "at": entry.at,
            "actor": entry.actor.value,
            "key": entry.key,
            "operation": entry.operation,
            "target": entry.target,
            "document": json.encode(entry).decode(),
        }
        self.db.execute(SQL["change_entry"], row)

    def wake(self, lanes: Iterable[int]) -> None:
        """Wake lanes, so that their owners look at them."""
        for lane in lanes:
            self.db.execute(SQL["woken_awake"], (lane,))
            self.db.execute(SQL["woken_tell"], (lane,))
            self.woke = True


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what identifies a file, whatever its name; None if there is none."""
    try:
        stats = path.stat()
    except OSError:
        return None
    return stats.st_dev, stats.st_ino
