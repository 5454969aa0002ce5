"""Accept messages in this store: a whole batch with a few statements."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from tarry.errors import BacklogFull, Conflict, DiskNearlyFull, ErasedKeyError, NotFound
from tarry.service.failpoints import hit
from tarry.service.model.audit import Action, message_target
from tarry.service.model.delivery import Reason, State
from tarry.service.model.message import Accepted, Message, NewMessage
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.rows import write_rows
from tarry.service.store.sqlite.database.session import Goal, Session, Tenant
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.database.writer import Joint
from tarry.service.store.sqlite.queries import SQL

Answer = Accepted | Conflict | NotFound | BacklogFull


class SqliteIngest(RecordsByKind):
    """See `contract.Ingest`."""

    _threads: Threads

    async def add(self, messages: Sequence[NewMessage]) -> list[Answer]:
        """Accept messages; return one result for each."""
        if not messages:
            return []
        answers = await self._threads.write(Add(messages))
        hit("add.after")
        return answers

    async def _expunge_message(
        self, application: str, message: str, *, by: Action | None = None
    ) -> None:
        """Delete a message's payload."""

        def delete_payload(session: Session) -> None:
            expunged = session.db.execute(SQL["expunge"], (message, application)).fetchall()
            if not expunged:
                raise NotFound("message", message)
            session.write_entry(by, message_target(application, message))
            hit("expunge.before")

        await self._threads.write(delete_payload)
        hit("expunge.after")


class Add(Joint):
    """A call of `add`, which can run together with those of other callers."""

    def __init__(self, messages: Sequence[NewMessage]) -> None:
        self.messages = messages

    @property
    def weight(self) -> int:
        """Return the number of messages."""
        return len(self.messages)

    def __call__(self, session: Session) -> list[Answer]:
        """Add the messages of one caller."""
        return Adding(session).add(self.messages)

    def together(self, works: Sequence["Add"], session: Session) -> list[list[Answer]]:
        """Add the messages of many callers."""
        answers = iter(Adding(session).add([new for work in works for new in work.messages]))
        return [list(islice(answers, len(work.messages))) for work in works]


class Fresh(Struct, frozen=True):
    """A message to be saved, its number, and the lanes it goes to."""

    message: Message
    number: int
    goals: tuple[Goal, ...]


class Adding:
    """One call of `add`: it first decides what to accept, and then writes all of it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._db = session.db
        self._tenants: dict[str, Tenant] = {}
        self._fresh: list[Fresh] = []
        self._keys: dict[tuple[str, str], tuple[NewMessage, int]] = {}
        self._events: set[tuple[str, str]] = set()
        self._waiting: Counter[str] = Counter()
        self._number = 0
        self._disk_is_nearly_full = session.room.look(session.db)

    def add(self, messages: Sequence[NewMessage]) -> list[Answer]:
        """Decide on each message in order, and save the accepted ones."""
        self._number = self._db.execute(SQL["add_last"]).get
        self._tenants = self._session.tenants({new.message.application for new in messages})
        data_keys = {
            new.message.sealed_with for new in messages if new.message.application in self._tenants
        }
        if not data_keys <= self._session.held_data_keys(data_keys):
            raise ErasedKeyError
        answers = [self._decide(new) for new in messages]
        if self._fresh:
            self._save()
        hit("add.before")
        return answers

    def _decide(self, new: NewMessage) -> Answer:
        """Accept a message, or return the error or the earlier answer to its key."""
        message = new.message
        tenant = self._tenants.get(message.application)
        if tenant is None:
            return NotFound("application", message.application)
        if new.key is not None and (result := self._key_result(new, new.key, tenant)) is not None:
            return result
        if message.event_id is not None and self._event_id_is_used(message, message.event_id):
            return Conflict("message", message.event_id)
        most = tenant.most_waiting
        if most is not None and self._waiting_count(message.application) >= most:
            return BacklogFull(message.application, most)
        if self._disk_is_nearly_full:
            room = self._session.room
            return DiskNearlyFull(message.application, room.left, room.reserve)
        self._accept(new, tenant)
        return Accepted(message)

    def _key_result(self, new: NewMessage, key: str, tenant: Tenant) -> Accepted | Conflict | None:
        """Return the result for a key that was used before; None for a new key."""
        earlier = self._keys.get((tenant.environment, key))
        if earlier is not None:
            fingerprint, first = earlier[0].fingerprint, earlier[0].message
        else:
            row = self._db.execute(SQL["add_key"], (tenant.environment, key)).fetchone()
            if row is None:
                return None
            fingerprint = row[0]
            (first,) = map(rows.message, self._db.execute(SQL["page_messages_found"], row[1:]))
        if fingerprint != new.fingerprint:
            return Conflict("message", key)
        return Accepted(first, repeated=True)

    def _event_id_is_used(self, message: Message, event_id: str) -> bool:
        """Return whether an accepted message of the application has this event id."""
        event = (message.application, event_id)
        return event in self._events or bool(self._db.execute(SQL["add_event"], event).fetchone())

    def _waiting_count(self, application: str) -> int:
        """Return how many deliveries of an application wait, including those of this call."""
        if application not in self._waiting:
            waiting = self._db.execute(SQL["add_waiting"], (application,)).get
            self._waiting[application] = int(waiting)
        return self._waiting[application]

    def _accept(self, new: NewMessage, tenant: Tenant) -> None:
        """Remember a message, its deliveries, key and event id for `_save`."""
        message = new.message
        self._number += 1
        goals = tenant.audience.goals(message, new.only)
        self._fresh.append(Fresh(message, self._number, goals))
        if tenant.most_waiting is not None:
            self._waiting[message.application] += sum(not skipped for _, skipped in goals)
        if new.key is not None:
            self._keys[tenant.environment, new.key] = (new, self._number)
        if message.event_id is not None:
            self._events.add((message.application, message.event_id))

    def _save(self) -> None:
        """Write the accepted messages, their keys and their deliveries."""
        message_rows = [rows.message_row(fresh.number, fresh.message) for fresh in self._fresh]
        write_rows(self._db, SQL["add_message"], message_rows)
        firsts = [
            (environment, key, number, new.fingerprint, new.message.accepted_at)
            for (environment, key), (new, number) in self._keys.items()
        ]
        write_rows(self._db, SQL["add_first"], firsts)
        write_rows(self._db, SQL["add_delivery"], list(self._deliveries(self._number_lanes())))

    def _number_lanes(self) -> dict[int, int]:
        """Count the new deliveries into their lanes; return the last earlier number of each."""
        goals = Counter(goal for fresh in self._fresh for goal in fresh.goals)
        live = Counter[int]()
        skipped = Counter[int]()
        for (lane, is_skipped), deliveries in goals.items():
            (skipped if is_skipped else live)[lane] += deliveries
        added = live + skipped
        last = self._session.add_to_lanes(added)
        write_rows(
            self._db, SQL["settle_ended"], [(count, lane) for lane, count in skipped.items()]
        )
        scheduled = self._scheduled_lanes()
        self._session.wake(
            lane
            for lane, (_, awake) in last.items()
            if lane in scheduled or (not awake and live[lane])
        )
        return {lane: number - added[lane] for lane, (number, _) in last.items()}

    def _scheduled_lanes(self) -> set[int]:
        """Return the lanes that get a delivery for a later time."""
        return {
            lane
            for fresh in self._fresh
            if fresh.message.is_scheduled
            for lane, skipped in fresh.goals
            if not skipped
        }

    def _deliveries(self, last: dict[int, int]) -> Iterator[rows.Row]:
        """Yield the rows of the new deliveries, numbered on from `last` of each lane."""
        for fresh in self._fresh:
            at, due_at = fresh.message.accepted_at, fresh.message.deliver_at
            if fresh.message.is_scheduled:
                state, reason, since = _WAITING, _SCHEDULED, due_at or at
            else:
                state, reason, due_at, since = _READY, _NEW, None, at
            for lane, skipped in fresh.goals:
                last[lane] = seq = last[lane] + 1
                if skipped:
                    yield lane, seq, fresh.number, _SKIPPED, _WHY_SKIPPED, None, at, at
                else:
                    yield lane, seq, fresh.number, state, reason, due_at, since, None


_READY, _NEW = State.READY.value, Reason.NEW.value
_WAITING, _SCHEDULED = State.WAITING.value, Reason.SCHEDULED.value
_SKIPPED, _WHY_SKIPPED = State.SKIPPED.value, Reason.SKIPPED.value
