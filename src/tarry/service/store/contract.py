"""The contract of a store: one protocol for each part of the service that uses the store.

Rules that hold for every method:

- A method is atomic. If it returns, its changes are committed and survive a crash. If it raises,
  it has changed nothing.
- `StoreUnavailable` means that the database cannot be used just now (down, locked, disk full);
  the caller may try again. `StoreError` is anything else the database refused.
- The caller passes all instants. A store reads a clock only for leases, and then the database's.
- A caller that passes a `Lease` changes nothing once the shard has another owner or epoch, or was
  given back. The store checks that inside the same transaction, with the shard's row locked.
- A method with `by` writes what it changed into the audit trail, in the same commit: one entry for
  each target (see `Action.entry`), unless an entry with its id is there already. It writes none if
  it raises. Without `by` it writes none: that is for the service's own bookkeeping.
- Text may contain any character except NUL and lone surrogates. Payloads are bytes and come back
  unchanged. Text from outside (an attempt's `detail`, why a task failed) is repaired with `mend`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar  # the result of a task is JSON

from msgspec import Struct

from tarry.errors import BacklogFull, Conflict, NotFound
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.audit import Action
from tarry.service.model.claim import Claim, ClaimEnd
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.key import Key
from tarry.service.model.lane import Change, Fetched, LaneRow, Lease, Noting, Want
from tarry.service.model.listing import Cut, Found
from tarry.service.model.message import Accepted, Message, NewMessage
from tarry.service.model.task import FIRST_TENANT, IN_PIECES, Failure, Task, Tenant, Work
from tarry.service.store.kinds import (
    Changeable,
    DeletableKind,
    ExpungeableKind,
    Gettable,
    NewRecord,
    Paged,
    Put,
    Query,
)

Record = TypeVar("Record")
NO_RECORDS: Mapping[str, bytes] = MappingProxyType({})
TOO_LONG = 10
"""No lease lasts this many times its length. If one seems to, the clock was set back since."""


class Seal(Struct, frozen=True):
    """How `collect` seals messages.

    `sealed` returns messages with their payloads sealed, in the same order. Messages of the
    applications in `leave` cannot be sealed now.
    """

    sealed: Callable[[Sequence[Message]], list[Message]]
    leave: Collection[str] = ()


class Ingest(Protocol):
    """Accepts messages."""

    async def add(
        self, messages: Sequence[NewMessage]
    ) -> list[Accepted | Conflict | NotFound | BacklogFull]:
        """Accept messages with their deliveries and keys in one commit; return one result for each.

        A message goes to every endpoint of its application that wants it, or to a single endpoint
        (see `NewMessage`). Messages are added in the order given. Each delivery gets the lane's
        next sequence number under a lock that is held until the commit, so that a lane's numbers
        become visible in order and without gaps. A new delivery is

        - READY (reason NEW);
        - WAITING until `deliver_at` (reason SCHEDULED) if that is later than `accepted_at`; its own
          `accepted_at` is then `deliver_at`, because its age counts from there;
        - SKIPPED (reason SKIPPED, ended at once) if the endpoint is DISABLED.

        Paused and parked endpoints get deliveries, deleted ones do not.

        If the message's key is known with the same fingerprint, the result is the first message,
        `repeated`; with another fingerprint it is a Conflict("message", key). An `event_id` that
        its application has used before is a Conflict("message", event_id). An unknown application
        is NotFound("application", id). If `most_waiting` or more deliveries of the application wait
        (the count may be a second old), the result is BacklogFull. While the disk is nearly full,
        every message gets DiskNearlyFull, in stores that can measure the disk. The checks come in
        this order: application, key, event id, backlog, disk. A message that conflicts does not
        affect the others. If one call has the same key or event id twice, the first one counts.

        Raises ErasedKeyError if a message to a known application is sealed with a data key that
        does not exist, or that is erased before the commit. Then no message of the call is
        accepted.

        A live delivery wakes a lane that was at rest, so `woken` will return that lane. A scheduled
        delivery wakes its lane in any case: the owner of an awake lane reads further ready
        deliveries by itself, but looks for due times only when the lane is woken.
        """


class Server(Struct, frozen=True):
    """The database server, as it answers now.

    `now` is its time in seconds since 1970; all times of the dispatcher use it. `started_at` is
    when it was started, 0 if there is no server. That changes with a restart or a failover, and a
    failover may lose the last commits. `workers` is the number of live workers.
    """

    now: float
    started_at: float
    workers: int


class Queue(Protocol):
    """Leases, lanes, deliveries and tasks for the dispatcher."""

    async def lease(self, worker: str, *, most: int, length: float) -> list[Lease]:
        """Take shards that are free or whose lease has ended, until `worker` owns `most` shards.

        Returns the new leases, each with a new epoch. Other workers can take the shards after
        `length` seconds of the database's clock; until one does, the lease stays valid. `clean`
        says that the previous owner gave the shard back, or that there was none. The worker also
        counts as alive for `length` seconds.

        A lease that ends more than `TOO_LONG` lengths from now counts as ended: the clock was set
        back since, and every live worker has renewed its leases by now. Workers with such a time
        no longer count as alive.

        A store that allows only one dispatcher raises StoreOwned while another process owns it.
        """

    async def renew(self, worker: str, leases: Sequence[Lease], *, length: float) -> list[Lease]:
        """Extend the leases to `length` seconds from now; return those that are still owned.

        A lease that has ended can still be renewed until another worker takes the shard. So a step
        of the database's clock takes no shard from a live worker. The worker counts as alive for
        `length` seconds too, even without leases.
        """

    async def release(self, leases: Sequence[Lease]) -> None:
        """Give shards back that have no request in flight; shards lost meanwhile do not change."""

    async def server(self) -> Server:
        """Return the database's time, when its server was started, and how many workers live.

        One cheap query: the dispatcher compares its clock with the answer.
        """

    async def awake(self, shards: Sequence[int]) -> list[int]:
        """Return the lanes of these shards that are not at rest."""

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        """Return the lanes of these shards that were woken since the last call, each once.

        For a stale lease it returns no lanes: these wake-ups are for the shard's next owner.

        A lane is woken when it gets a live delivery while at rest (also from `advance`), a resend
        or a new task, and when its endpoint is created. It is also woken when anyone but its owner
        changes its endpoint, its application or one of its deliveries. A change of the environment
        wakes only lanes that are not at rest. `rest` does not delete wake-ups that were not
        returned yet.
        """

    def listen(self, nudge: "Nudge") -> None:
        """Call `nudge()` on the loop's thread soon after a lane was woken, if the store can.

        The call may come too often, or not at all, so the listener must also poll now and then.
        """

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        """Return these lanes, each with all that applies to it, without lanes that are gone."""

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        """Return deliveries that these lanes can send next, in the order of the wants and streams.

        All payloads together stay below `most_bytes`, except that each want always gets its first
        delivery. See `Stream` for what each stream holds; `resend` ids sort by when the resend was
        requested. The versions were read together with the rows. A caller that knows an older
        version of a lane must call `lanes` again before it sends these deliveries.
        """

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        """Save the outcomes of deliveries, their attempts, and changes of lanes, in one commit.

        Returns for each settlement whether it was applied. A settlement is refused if no lease with
        its `epoch` still holds the lane's shard, if the delivery is no longer live, or if its
        `tries` or `message` differ. A settlement with an attempt raises `tries` by one. If the
        delivery ended while that attempt was in flight (`tries` and `message` are unchanged), the
        attempt is saved and `tries` raised as well, but nothing else changes. A delivery that ends
        raises the lane's `ended`.

        A `Resent` removes the resend and saves its attempt, if the lease is held and the resend
        still exists. If the endpoint accepted it, a FAILED or SKIPPED delivery of the message in
        this lane becomes DELIVERED at the time of the attempt. If the lane has no delivery of the
        message, it gets an ended one with the lane's next sequence number (see `Resent.delivery`),
        which wakes no lane. All `Resent` are applied after the other settlements, in order.

        An attempt that is sealed with an erased data key is saved without its sealed body.

        A `Change` of a lane is dropped unless a valid lease has its `epoch`; see `Change`.
        """

    async def rest(
        self, lanes: Mapping[int, int], leases: Iterable[Lease], *, doze: bool = False
    ) -> set[int]:
        """Put lanes to rest that have no live delivery and no resend; return the lanes at rest now.

        The mapping gives for each lane the `added` count that its owner knows. A lane that got more
        deliveries since then, or whose lease is stale, stays awake.

        With `doze`, lanes with live deliveries and resends are affected too: the next live delivery
        wakes them, as if they were at rest. This is for lanes whose owner has read all their ready
        deliveries while some are still live. `awake` returns dozing lanes all the same.
        """

    async def expire(
        self, lane: int, *, accepted_before: float, now: float, limit: int, lease: Lease
    ) -> int:
        """End live deliveries accepted before that time as FAILED/AGED; return their number.

        The oldest by (accepted_at, sequence) end first. A delivery that ends here, or that is
        cancelled or discarded, loses its `due_at`.
        """

    async def collect(self, *, now: float, limit: int, seal: Seal | None = None) -> int:
        """Accept messages that callers wrote to the outbox table; return how many were accepted.

        Callers write them in their own transactions. They are accepted as by `add`, under the ids
        they already have, and wake lanes in the same way. A store without an outbox table has none.
        The messages are accepted as `seal` returns them; its error is passed on. Messages that
        cannot be sealed now stay in the table.
        """

    async def origins(self, names: Sequence[str]) -> list[bytes]:
        """Return the record saved by `learn` for each origin, or for each application at an origin.

        The records are in the order of the names, and empty where there is none.
        """

    async def learn(
        self, origins: Mapping[str, bytes], *, expected: Mapping[str, bytes] = NO_RECORDS
    ) -> dict[str, bytes]:
        """Save what was learned about origins; return the records that were not replaced.

        A record named in `expected` is replaced only if it still equals the value given there. If
        there is no record yet, it is written in any case. All other records are always replaced.
        """

    async def next_task(
        self,
        shards: Sequence[int],
        works: Collection[Work] = IN_PIECES,
        *,
        after: Tenant = FIRST_TENANT,
    ) -> Task | None:
        """Return the oldest unfinished task of these kinds, of the next tenant in these shards.

        Tenants are in the order of `Task.tenant`. The next tenant is the first one after `after`
        that has such a task. None if there is no such tenant after it.
        """

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        """Do a task for at most `limit` more deliveries and save its progress, in one commit.

        RECOVER makes FAILED deliveries READY again (reason REPLAYED, attempts 0, no memory and no
        due time, `tries` kept, `accepted_at` now so that the age starts again). REPLAY_MISSING and
        BULK_REPLAY do the same for messages that fit `Task.replays`, still have their payload
        (neither expunged nor erased) and need not wait for their `deliver_at`. If the endpoint
        wants such a message and has no delivery of it, it gets a new one: READY, REPLAYED and
        accepted now. DISCARD ends live deliveries as DISCARDED and removes resends. ERASE ends live
        deliveries as DISCARDED (reason ERASED) whose payload is sealed with an erased data key.
        PURGE_CONTENT expunges an application's messages.

        Messages are processed in the order of acceptance, and by id within one instant. Messages
        outside the task's time range should cost nothing, however many there are. The work
        continues from the stored cursor, not from the one passed in. A finished task does not
        change. Under a stale lease nothing is done.
        """

    async def finish(
        self, task: Task, result: dict[str, Any] | Failure, *, now: float, lease: Lease
    ) -> Task:
        """Finish a task with its result, or with the reason why it failed; see `Task.finished`.

        A finished task does not change. Under a stale lease nothing is done.
        """

    async def mark_sent(self, notices: Sequence[str]) -> None:
        """Mark notices as sent; unknown ids are ignored."""


class Records(Protocol):
    """What people set up and look at. Each kind's docstring in `kinds` has its own rules."""

    async def get(self, kind: Gettable[Record], known_as: str) -> Record:
        """Return the record of a kind with this name; NotFound if there is none, or if deleted.

        The name is an id, except for kinds that say otherwise.
        """

    async def page(self, kind: Paged[Record], cut: Cut) -> Found[Record]:
        """Return a page of a list, in the direction that its cut gives.

        The store examines no more entries than the cut allows. Entries that an index skips need
        not count.
        """

    async def read(self, query: Query[Record]) -> list[Record]:
        """Return the answer to a query: see the kinds that are a `Query`."""

    async def create(self, record: NewRecord, *, by: Action | None = None) -> None:
        """Add a new record; Conflict if it exists."""

    async def put(
        self,
        record: Put,
        *,
        by: Action | None = None,
        noting: Noting | None = None,
        most: int | None = None,
    ) -> Put:
        """Create a record or replace it; return it as it is stored.

        With `most`, a new endpoint is refused with TooManyEndpoints if its application has that
        many already, without deleted ones. This also holds if several are created at a time.

        The notices that `noting` returns for a change of an endpoint are saved in the same commit;
        notices that were sent already stay marked as sent. No other kind has notices.
        """

    async def change(
        self,
        kind: Changeable[Record],
        known_as: str,
        change: Callable[[Record], Record],
        *,
        by: Action | None = None,
        noting: Noting | None = None,
    ) -> Record:
        """Apply `change` to the stored record with this id; the result is saved as by `put`.

        The record passed to `change` is locked until the commit. `change` may be called more than
        once and on any thread. If it raises, the error is passed on and the store does not change.
        The same holds for `noting`. Raises NotFound if there is no record with this id, or if it is
        deleted.
        """

    async def delete(
        self,
        kind: DeletableKind,
        known_as: str,
        *,
        now: float,
        by: Action | None = None,
        noting: Noting | None = None,
    ) -> list[Task]:
        """Delete the record with this id as of `now`; return the tasks that discard deliveries.

        NotFound if there is none with this id or if it is deleted. The endpoints that go with an
        application have no entries of their own in the audit trail.
        """


class Actions(Protocol):
    """What people do with messages, and what they count."""

    async def cancel(
        self, application: str, message: str, *, now: float, by: Action | None = None
    ) -> int:
        """End a message's live deliveries as CANCELLED; return their number.

        NotFound if the application has no such message.
        """

    async def resend(
        self, endpoint: Endpoint, message: str, *, resend: str, by: Action | None = None
    ) -> None:
        """Request one more attempt before all other deliveries, and wake the lane.

        `resend` is the id of the request. Raises NotFound if the endpoint's application has no such
        message, or if the endpoint is deleted.
        """

    async def expunge(
        self, kind: ExpungeableKind, known_as: str, *, by: Action | None = None
    ) -> None:
        """Delete the payload of a message, or the stored response of an attempt.

        The live deliveries of the message end as EXPUNGED when their turn comes. The response is
        replaced by EXPUNGED. Raises NotFound if there is no record with this id.
        """

    async def erase(self, application: str, *, now: float, by: Action | None = None) -> bool:
        """Delete an application's data key; return whether it had one.

        Nothing that is sealed with it can be opened again. In the same commit, each endpoint gets a
        task that discards the deliveries concerned (`erasing`), and its lane is woken and gets a
        new version. NotFound if there is no such application.
        """

    async def add_task(
        self, task: Task, *, most_pending: int | None = None, by: Action | None = None
    ) -> Task:
        """Save a task, wake its lane if it has one, and return the task.

        With `most_pending`, a replay that another replay covers is not saved; the covering one is
        returned instead (see `standing_for`), and the audit trail gets no entry. The check and the
        write are atomic.
        """

    async def count_deliveries(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> dict[tuple[State, bool], int]:
        """Count deliveries accepted in [`since`, `until`) by state and whether they were tried.

        The second part of a key says whether at least one attempt was made. Counts of 0 may be
        left out.
        """

    async def count_attempts(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> tuple[int, int]:
        """Return how many attempts in [`since`, `until`) succeeded, and how many failed."""

    async def counts(self, lane: int) -> dict[State, int]:
        """Return how many deliveries of a lane are in each state; zeros may be left out."""


class Admission(Protocol):
    """What the HTTP API needs to admit callers, and to carry each request out once."""

    async def key(self, hashed: bytes) -> Key:
        """Return the key with this hash, even if revoked.

        NotFound("key", "...") if there is none, or if it admits to an application that is deleted.
        """

    async def revoke_keys(
        self,
        application: str,
        *,
        sessions: Sequence[str] | None,
        now: float,
        delay: float = 0.0,
        by: Action | None = None,
    ) -> int:
        """Revoke the keys to an application, all or those of some sessions; return their number.

        With a `delay` they expire after that many seconds instead, unless they expire earlier. The
        audit trail gets one entry, about the application.
        """

    async def keep(self, name: str, value: bytes, *, instead_of: bytes | None = None) -> bytes:
        """Save a value under a name unless one exists; return the value that is stored now.

        With `instead_of`, save it only in place of that value. The result is empty if no value is
        stored.
        """

    async def claim(self, claim: Claim, *, now: float) -> Claim:
        """Claim a key for a holder, and return the claim as it is stored then.

        The caller is the holder of the returned claim if the key was free, or if the previous
        holder had no answer by its `until` (compared with `now`) and the fingerprint is the same.
        Otherwise the claim belongs to another holder, or has an answer. `at` and `fingerprint` are
        always those of the first claim. Atomic: of several callers at once, one gets the key.
        """

    async def end_claim(self, claim: Claim, end: ClaimEnd) -> None:
        """End a claim, if this holder still has it and it has no answer; see `ClaimEnd`."""


class Retention(Struct, frozen=True, kw_only=True):
    """Age limits of stored data: anything older may be removed. None keeps it for ever.

    A message with a pending resend is kept complete.
    """

    payloads_before: float | None = None
    """Payloads of messages accepted earlier, whose deliveries have all ended, are expunged."""
    expired_before: float | None = None
    """The same for messages whose `payload_until` is earlier."""
    messages_before: float | None = None
    """Messages accepted earlier go with deliveries, attempts and key, if all deliveries ended."""
    keys_before: float | None = None
    """Idempotency keys of messages accepted earlier are forgotten."""
    notices_before: float | None = None
    tasks_before: float | None = None
    """Tasks finished earlier are forgotten."""
    refused_before: float | None = None
    """Messages in the outbox table that were refused earlier are forgotten."""
    claims_before: float | None = None
    """Claims that first came earlier are forgotten."""
    portal_keys_before: float | None = None
    """Keys to one application that ended earlier, expired or revoked, are forgotten."""
    audit_before: float | None = None
    """Entries of the audit trail about earlier changes are forgotten."""


class Upkeep(Protocol):
    """Maintenance of a store."""

    async def sweep(self, retention: Retention, *, limit: int) -> int:
        """Remove data past its retention, at most about `limit` rows; return how many were removed.

        0 means that there is no more to remove now. The reason may be that too many old rows cannot
        be removed yet: then the next call, better made later, continues behind them.
        """

    async def backup(self, target: Path) -> None:
        """Write a consistent copy while the store is in use; StoreError if it cannot."""

    async def check(self) -> None:
        """Raise if the database cannot be written to, or its schema is not the right one."""

    async def close(self) -> None:
        """Finish running work and close the database."""


class Store(Ingest, Queue, Records, Actions, Admission, Upkeep, Protocol):
    """The complete contract of a store."""


class Nudge(Protocol):
    """A callback for woken lanes."""

    def __call__(self) -> None:
        """Tell the listener to look for woken lanes soon."""
