"""Decide which messages are accepted, by their keys, event ids and the backlog.

If another open transaction uses the same key or event id, this one waits for its end.
"""

from collections.abc import Iterator, Sequence

from tarry.errors import BacklogFull, Conflict, NotFound
from tarry.service.model.message import Accepted, Message, NewMessage
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.faults import Stale
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.ingest.routes import Tenant
from tarry.service.store.postgres.queries import SQL

Result = Accepted | Conflict | NotFound | BacklogFull
Name = tuple[str, str]
"""An environment and a key, or an application and an event id."""


async def decide(
    connection: Connection,
    tenants: dict[str, Tenant],
    messages: Sequence[NewMessage],
    *,
    limited: bool,
) -> list[Result]:
    """Return one result for each message; keys and event ids of accepted ones are then saved."""
    results: list[Result] = []
    used: dict[Name, NewMessage] = {}
    parts = list(_split_at_repetitions(messages, tenants))
    if len(parts) > 1:
        await _lock_names(connection, tenants, messages)
    for part in parts:
        results += await _Decision(connection, tenants, part, used, limited=limited).decide()
    return results


async def _lock_names(
    connection: Connection, tenants: dict[str, Tenant], messages: Sequence[NewMessage]
) -> None:
    """Lock the free keys and event ids of all parts of a call, in order, until the commit.

    Each part locks its own names in order, but the parts together would not. A name that is
    inserted and removed again stays locked: other transactions wait until this one has ended.
    """
    addressed = [new for new in messages if new.message.application in tenants]
    keys = {
        (tenants[new.message.application].environment, new.key): new
        for new in addressed
        if new.key is not None
    }
    key_rows = [(*name, new.fingerprint, *_id_and_time(new.message)) for name, new in keys.items()]
    owners = await _insert_names(connection, "add_keys", rows.columns(key_rows, 5))
    own_names = [name for name, new in keys.items() if new.message.id in owners]
    await connection.execute(SQL["add_refused_keys"], *rows.columns(own_names, 2))
    events = {
        (new.message.application, new.message.event_id): new
        for new in addressed
        if new.message.event_id is not None
    }
    event_rows = [(*name, new.message.id) for name, new in events.items()]
    owners = await _insert_names(connection, "add_events", rows.columns(event_rows, 3))
    own_names = [name for name, new in events.items() if new.message.id in owners]
    await connection.execute(SQL["add_refused_events"], *rows.columns(own_names, 2))


async def _insert_names(connection: Connection, query: str, names: list[list[object]]) -> set[str]:
    """Insert those names that are free; return the messages that own them now."""
    return {row["message"] for row in await connection.fetch(SQL[query], *names)}


def _split_at_repetitions(
    messages: Sequence[NewMessage], tenants: dict[str, Tenant]
) -> Iterator[Sequence[NewMessage]]:
    """Split before a repeated key or event id: its message must see the result of the first."""
    start = 0
    names_of_part: set[tuple[str, str, str]] = set()
    for index, new in enumerate(messages):
        tenant = tenants.get(new.message.application)
        if tenant is None:
            continue
        names = set()
        if new.key is not None:
            names.add(("key", tenant.environment, new.key))
        if new.message.event_id is not None:
            names.add(("event", new.message.application, new.message.event_id))
        if not names_of_part.isdisjoint(names):
            yield messages[start:index]
            start = index
            names_of_part.clear()
        names_of_part |= names
    yield messages[start:]


class _Decision:
    """Decides on messages with different keys and different event ids."""

    def __init__(
        self,
        connection: Connection,
        tenants: dict[str, Tenant],
        messages: Sequence[NewMessage],
        used: dict[Name, NewMessage],
        *,
        limited: bool,
    ) -> None:
        self._connection = connection
        self._tenants = tenants
        self._messages = messages
        self._used = used  # keys of messages that this call accepted before
        self._limited = limited
        self._results: dict[int, Result] = {}
        self._keys: dict[int, Name] = {}
        self._events: dict[int, Name] = {}

    async def decide(self) -> list[Result]:
        """Check the application, key, event id and backlog of each message; return the results."""
        for index, new in enumerate(self._messages):
            if new.message.application not in self._tenants:
                self._results[index] = NotFound("application", new.message.application)
        await self._take_keys()
        await self._take_event_ids()
        for index, new in self._undecided():
            self._results[index] = self._unless_full(new)
        await self._give_back()
        return [self._results[index] for index in range(len(self._messages))]

    def _undecided(self) -> list[tuple[int, NewMessage]]:
        """Return the messages without a result yet, with their places."""
        numbered = enumerate(self._messages)
        return [(index, new) for index, new in numbered if index not in self._results]

    async def _take_keys(self) -> None:
        """Save the messages' idempotency keys, and answer messages whose key was used before."""
        key_names = {
            index: (self._tenants[new.message.application].environment, new.key)
            for index, new in self._undecided()
            if new.key is not None
        }
        for index in [index for index, name in key_names.items() if name in self._used]:
            first = self._used[key_names.pop(index)]
            self._answer(index, first.fingerprint, first.message)
        if not key_names:
            return
        new_keys = [
            (*name, self._messages[index].fingerprint, *_id_and_time(self._messages[index].message))
            for index, name in key_names.items()
        ]
        owners = await _insert_names(self._connection, "add_keys", rows.columns(new_keys, 5))
        own = {index for index in key_names if self._messages[index].message.id in owners}
        self._keys = {index: key_names[index] for index in own}
        if others := {name: index for index, name in key_names.items() if index not in own}:
            await self._answer_known(others)

    def _answer(self, index: int, fingerprint: bytes, first: Message) -> None:
        """Set the result for a known key: the first message if the request is the same."""
        new = self._messages[index]
        if fingerprint == new.fingerprint:
            self._results[index] = Accepted(first, repeated=True)
        else:
            self._results[index] = Conflict("message", new.key or "")

    async def _answer_known(self, index_of: dict[Name, int]) -> None:
        """Answer messages whose keys are stored already, with the first message of each key."""
        names = rows.columns(list(index_of), 2)
        for row in await self._connection.fetch(SQL["add_known"], *names):
            index = index_of.pop((row["key_environment"], row["known_key"]))
            self._answer(index, row["fingerprint"], rows.message(row))
        if index_of:  # these keys were swept between the two queries
            raise Stale

    async def _take_event_ids(self) -> None:
        """Save the messages' event ids; a message whose event id was used gets a Conflict."""
        event_names = {
            index: (new.message.application, new.message.event_id)
            for index, new in self._undecided()
            if new.message.event_id is not None
        }
        if not event_names:
            return
        new_events = [
            (*name, self._messages[index].message.id) for index, name in event_names.items()
        ]
        owners = await _insert_names(self._connection, "add_events", rows.columns(new_events, 3))
        for index, name in event_names.items():
            if self._messages[index].message.id in owners:
                self._events[index] = name
            else:
                self._results[index] = Conflict("message", name[1])

    def _unless_full(self, new: NewMessage) -> Accepted | BacklogFull:
        """Accept a message and count its deliveries, unless too many of the application wait."""
        message = new.message
        tenant = self._tenants[message.application]
        most_waiting = tenant.most_waiting
        if most_waiting is not None:
            if self._limited and tenant.waiting >= most_waiting:
                return BacklogFull(message.application, most_waiting)
            routes = tenant.to(message, new.only)
            tenant.waiting += sum(not route.endpoint.skips for route in routes)
        return Accepted(message)

    async def _give_back(self) -> None:
        """Delete the keys and event ids of messages that were refused in the end."""
        refused = {
            index for index, result in self._results.items() if not isinstance(result, Accepted)
        }
        self._used |= {
            name: self._messages[index]
            for index, name in self._keys.items()
            if index not in refused
        }
        for query, names in (
            ("add_refused_keys", [name for index, name in self._keys.items() if index in refused]),
            (
                "add_refused_events",
                [name for index, name in self._events.items() if index in refused],
            ),
        ):
            if names:
                await self._connection.execute(SQL[query], *rows.columns(names, 2))


def _id_and_time(message: Message) -> tuple[str, float]:
    return message.id, message.accepted_at
