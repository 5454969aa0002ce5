"""What a store must do: some protocols, each shaped by the one who needs it.

Rules that hold for every method:

- It is atomic: what returned is committed and survives a crash, what raised changed nothing.
- `StoreUnavailable` means that the database cannot be used just now (down, locked, disk full);
  the caller may try again. `StoreError` is anything else the database refused.
- Instants are handed in; a store reads no clock but for leases, which are timed by the database.
- Whoever hands in a `Lease` may change nothing once the shard has another owner or epoch, or was
  given back: the store checks that inside the same transaction, holding the shard's row.
- Text may hold any character but NUL, and no half of one; payloads are bytes and come back as they
  went in. What others have said (an attempt's `detail`, why a task failed) is mended: see `mend`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct

from tarry.errors import BacklogFull, Conflict, NotFound
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Change, Fetched, LaneRow, Lease, Want
from tarry.service.model.message import Accepted, NewMessage
from tarry.service.store.catalogue import Catalogue
from tarry.service.store.history import History
from tarry.service.store.listing import Listing
from tarry.service.store.registry import Registry
from tarry.service.store.tasks import Tasks

NO_RECORDS: Mapping[str, bytes] = MappingProxyType({})
TOO_LONG = 10
"""How many lengths of a lease no lease is long: if one is, the clock was set back since."""


class Outbox(Protocol):
    """What takes messages in."""

    async def add(
        self, messages: Sequence[NewMessage]
    ) -> list[Accepted | Conflict | NotFound | BacklogFull]:
        """Accept messages with their deliveries and keys, all in one commit; one result each.

        A message goes to every endpoint of its application that wants it (or, see `NewMessage`, to
        one only), in the order given: each delivery gets the lane's next sequence number, given
        under a lock that is held until the commit, so that a lane's numbers become visible in order
        and without gaps. It is READY (reason NEW); WAITING until `deliver_at` (reason SCHEDULED) if
        that is later than `accepted_at`, and accepted as late, since its age counts from there;
        SKIPPED (reason SKIPPED, ended at once) if the endpoint is DISABLED. Deleted endpoints get
        none; paused and parked ones do.

        A message whose key is known with the same fingerprint answers with the first message,
        `repeated`; with another fingerprint it is a Conflict("message", key). An `event_id` that
        its application has used before is a Conflict("message", event_id). An unknown application
        is NotFound("application", id). An application with `most_waiting` deliveries waiting
        or more (known to about a second) is BacklogFull; so are all while the disk is nearly full
        (DiskNearlyFull), where a store can tell. The order of these checks: application, key,
        event id, backlog, disk. A conflicting message fails alone. The same key or event id twice
        in one call: the first counts.

        A lane that was at rest is woken by a delivery that is live: `woken` will name it. A
        scheduled delivery wakes its lane in any case: an owner that is awake reads on in the ready
        deliveries by itself, but looks for due times only when it is woken.
        """

    async def expunge(self, application: str, message: str) -> None:
        """Forget a message's payload; what still waits will end as EXPUNGED when its turn comes.

        NotFound if the message is not this application's.
        """


class Queue(Protocol):
    """What the dispatcher needs."""

    async def lease(self, worker: str, *, most: int, length: float) -> list[Lease]:
        """Own shards that are free, or whose time is over, until `worker` owns `most` of them.

        A time that is further ahead than `TOO_LONG` lengths counts as over: the clock was set back
        since, and whoever is alive has renewed its leases by now. Workers that are so far ahead
        count as alive no longer.

        Returns those newly owned. Others can take them after `length` seconds of the database's
        clock; until somebody does, the lease stays good. Each gets a new
        epoch. `clean` tells that the shard was given back (or never owned). The worker also counts
        as alive for `length` seconds. A store that takes one dispatcher only raises StoreOwned
        while another process has it.
        """

    async def renew(self, worker: str, leases: Sequence[Lease], *, length: float) -> list[Lease]:
        """Own them for `length` more seconds from now on; returns those that are still owned.

        A lease whose time is over is still owned, and can be renewed, until somebody takes the
        shard. So a step of the database's clock takes nothing away from a worker that is alive.
        The worker counts as alive for as long, even without leases.
        """

    async def release(self, leases: Sequence[Lease]) -> None:
        """Give shards back, with nothing on its way; those lost meanwhile are left alone."""

    async def workers(self) -> int:
        """How many workers are alive."""

    async def clock(self) -> float:
        """The database's time: seconds since 1970. All instants of the dispatcher follow it."""

    async def server_started_at(self) -> float:
        """When the database server was started; 0 if there is no server.

        It changes with a restart and with a failover, which may have lost the last commits.
        """

    async def awake(self, shards: Sequence[int]) -> list[int]:
        """The lanes of these shards that are not at rest."""

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        """The lanes of these shards that were woken since this was asked last, each once.

        Under a stale lease nothing is told: it is the next owner's to hear.

        A lane is woken when it gets a live delivery while at rest (also by `advance`), and whenever
        its endpoint, its application or one of its deliveries is changed by anybody but its owner,
        or, unless it is at rest, its environment;
        a new endpoint, a resend and a new task wake it too. What was not asked for yet outlives
        `rest`.
        """

    def listen(self, nudge: "Nudge") -> None:
        """Call `nudge()` soon after a lane was woken, on the loop's thread, if the store can tell.

        It may be called too often, and it may be missed: whoever listens also asks now and then.
        """

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        """These lanes with their endpoints and applications; those that are gone are left out."""

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        """What these lanes could send next, in the order of the wants and of each stream.

        All payloads together stay below `most_bytes`, but for each want the first is given in any
        case. See `Stream` for what each stream holds; `resend` ids sort in the order of asking.
        The versions are of the same moment as the rows: whoever knows an older one must not send
        them before it has asked for its `lanes` again.
        """

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        """Write down what became of deliveries, with the attempts made, and of lanes: one commit.

        For each settlement, True if it was made. It is not if its lane's shard is not held any
        more by the one of the leases that has its `epoch`, or its delivery is not live any more, or
        its `tries` or its
        `message` differ. A settlement with an attempt raises `tries` by one; if the delivery ended
        while that was on its way (its `tries` and its `message` are the same), so does this one,
        the attempt is kept, and nothing else changes. What ended raises the lane's `ended`. A
        `Resent` removes the resend and adds its attempt, if the lease is held and it is still
        there; if it was taken, a delivery of the message here that is FAILED or SKIPPED becomes
        DELIVERED, as of the attempt. If the lane has no delivery of the message, it gets one that
        has ended, with the lane's next sequence number: see `Resent.delivery`. Nobody is woken by
        it. What was resent comes after the other settlements of the call, in order. Changes of
        lanes whose `epoch` is not that of a good lease are dropped; see `Change`.
        """

    async def rest(self, lanes: Mapping[int, int], leases: Iterable[Lease]) -> set[int]:
        """Let lanes rest that have nothing live and no resend; those that do now.

        The mapping gives, for each, how many were `added` as its owner knows: a lane to which more
        came meanwhile, or whose lease is stale, stays awake.
        """

    async def doze(self, lanes: Mapping[int, int], leases: Iterable[Lease]) -> set[int]:
        """Have the next live delivery to lanes wake them, as if they were at rest; those it will.

        Their owner has read all that is ready in them, and something is live still. The mapping and
        the leases are as in `rest`; `awake` names them all the same.
        """

    async def expire(
        self, lane: int, *, accepted_before: float, now: float, limit: int, lease: Lease
    ) -> int:
        """End live deliveries as FAILED/AGED that were accepted earlier, oldest first; how many.

        Oldest by (accepted_at, sequence). What ends here or by cancelling or discarding has no
        `due_at` any more.
        """

    async def collect(self, *, now: float, limit: int) -> int:
        """Accept what callers put on record inside their own transactions; how many it was.

        It is accepted as `add` would, under the id it was given, and wakes lanes likewise. Only a
        store with such a table has anything to collect.
        """

    async def origins(self, names: Sequence[str]) -> list[bytes]:
        """Return what was learned of each of these origins, or of applications at them.

        The answers are in the order of the names, and empty where nothing is known.
        """

    async def learn(
        self, origins: Mapping[str, bytes], *, expected: Mapping[str, bytes] = NO_RECORDS
    ) -> dict[str, bytes]:
        """Save what was learned of origins; return the records that were not replaced.

        A record that is named in `expected` is replaced only if it is as given there. If there is
        no record yet, it is written in any case. All other records are replaced as well.
        """


class Retention(Struct, frozen=True, kw_only=True):
    """Until when things are kept: older ones may go. None keeps them for ever.

    A message for which a resend waits is kept whole.
    """

    payloads_before: float | None = None
    """Payloads of messages accepted earlier, whose deliveries have all ended, are expunged."""
    expired_before: float | None = None
    """The same of messages whose payload was to be kept until earlier."""
    messages_before: float | None = None
    """Messages accepted earlier go with deliveries, attempts and key, if all have ended."""
    keys_before: float | None = None
    """Idempotency keys of messages accepted earlier are forgotten."""
    notices_before: float | None = None
    tasks_before: float | None = None
    """Tasks finished earlier are forgotten."""
    refused_before: float | None = None
    """Messages that were put on record and refused earlier are forgotten."""
    claims_before: float | None = None
    """Claims that first came earlier are forgotten."""
    portal_keys_before: float | None = None
    """Keys to one application that ended earlier, expired or revoked, are forgotten."""


class Upkeep(Protocol):
    """What keeps a store in shape."""

    async def sweep(self, retention: Retention, *, limit: int) -> int:
        """Remove what need not be kept, at most about `limit` rows; how many: 0 is all done.

        Or so much is in the way that cannot go yet that the next call had better come later: it
        goes on from there.
        """

    async def sealed(self, *, after: str = "", limit: int = 100) -> list[Endpoint]:
        """Endpoints with something sealed, by id, behind one; for a change of the sealing key.

        Without the deleted ones.
        """

    async def backup(self, target: Path) -> None:
        """Write a copy that is consistent, while others work; StoreError if it cannot."""

    async def check(self) -> None:
        """Raise if the database cannot be written to, or its schema is not the right one."""

    async def close(self) -> None:
        """Finish what was begun and let go of the database."""


class Store(Outbox, Queue, Tasks, Catalogue, History, Listing, Registry, Upkeep, Protocol):
    """All of it."""


class Nudge(Protocol):
    """Called when a lane was woken."""

    def __call__(self) -> None:
        """Look soon: there is something to do."""
