"""Data of the HTTP API in this store."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import apsw
from msgspec import json
from msgspec.structs import asdict, replace

from tarry.errors import Conflict, NotFound
from tarry.service.failpoints import hit
from tarry.service.model.audit import Action, changed, event_type_target, revoked_target
from tarry.service.model.claim import Claim, ClaimEnd
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key
from tarry.service.model.listing import FIRST, LAST, Cut, Found
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.event_type_page import page_of_event_types
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.queries import SQL

Value = TypeVar("Value")

_ENDS = {
    ClaimEnd.ANSWERED: SQL["end_claim_answered"],
    ClaimEnd.RELEASED: SQL["end_claim_released"],
    ClaimEnd.LAPSED: SQL["end_claim_lapsed"],
}


class SqliteRegistry(RecordsByKind):
    """Event types, keys, kept values and claims."""

    _threads: Threads

    async def _create_event_type(self, event_type: EventType, *, by: Action | None = None) -> None:
        """Add an event type that does not exist yet."""

        def insert(session: Session) -> None:
            try:
                session.db.execute(SQL["create_event_type"], _event_type_row(event_type))
            except apsw.ConstraintError:
                raise Conflict("event type", event_type.name) from None
            session.write_entry(by, changed(event_type))

        await self._threads.write(insert)

    async def _change_event_type(
        self,
        environment: str,
        name: str,
        change: Callable[[EventType], EventType],
        *,
        by: Action | None = None,
    ) -> EventType:
        """Apply `change` to the stored event type."""

        def change_stored(session: Session) -> EventType:
            stored = _event_type(session.db, environment, name)
            saved = replace(change(stored), environment=environment, name=name)
            session.db.execute(SQL["change_event_type"], _event_type_row(saved))
            session.write_entry(by, changed(saved, stored))
            return saved

        return await self._threads.write(change_stored)

    async def _delete_event_type(
        self, environment: str, name: str, *, by: Action | None = None
    ) -> None:
        """Delete an event type."""

        def delete_stored(session: Session) -> None:
            if not session.db.execute(SQL["delete_event_type"], (environment, name)).fetchall():
                raise NotFound("event type", name)
            session.write_entry(by, event_type_target(name))

        await self._threads.write(delete_stored)

    async def _event_type(self, environment: str, name: str) -> EventType:
        """Return the event type of this name."""
        return await self._threads.browse(lambda db: _event_type(db, environment, name))

    async def _page_event_types(
        self, environment: str, cut: Cut, *, archived: bool
    ) -> Found[EventType]:
        """Return an environment's event types, by name."""
        queries = (
            ("page_event_types_all", "page_event_types_all_down")
            if archived
            else ("page_event_types", "page_event_types_down")
        )
        sql, bounds = _query_of(queries, environment, cut)

        def read(db: apsw.Connection) -> list[EventType]:
            event_types, left = list[EventType](), math.inf
            if cut.most_bytes is not None:
                left = cut.most_bytes
            for (text,) in db.execute(sql, bounds):
                event_types.append(rows.EVENT_TYPE.decode(text))
                left -= event_types[-1].bytes
                if left < 0 and len(event_types) > 1:  # it does not fit, but shows that it follows
                    break
            return event_types

        return page_of_event_types(await self._threads.browse(read), cut)

    async def _create_key(self, key: Key, *, by: Action | None = None) -> None:
        """Add a new key."""
        row = {
            "id": key.id,
            "environment": key.environment,
            "hash": key.hash,
            "application": key.application,
            "session": key.session,
            "ends_at": key.ends_at,
            "document": rows.document(key),
        }

        def insert(session: Session) -> None:
            try:
                session.db.execute(SQL["create_key"], row)
            except apsw.ConstraintError:
                raise Conflict("key", key.id) from None
            session.write_entry(by, changed(key))

        await self._threads.write(insert)

    async def key(self, hashed: bytes) -> Key:
        """Return the key with this hash."""

        def read_key(db: apsw.Connection) -> Key:
            document = db.execute(SQL["key"], (hashed,)).get
            if document is None:
                raise NotFound("key", "...")
            return rows.KEY.decode(document)

        return await self._threads.browse(read_key)

    async def _change_key(
        self,
        environment: str,
        key: str,
        change: Callable[[Key], Key],
        *,
        by: Action | None = None,
    ) -> Key:
        """Apply `change` to a stored key; only its expiry and revocation are saved."""

        def change_stored(session: Session) -> Key:
            document = session.db.execute(SQL["change_key_known"], (key,)).get
            stored = None if document is None else rows.KEY.decode(document)
            if stored is None or stored.environment != environment:
                raise NotFound("key", key)
            saved = _save_key_end(session, stored, change(stored))
            session.write_entry(by, changed(saved, stored))
            return saved

        return await self._threads.write(change_stored)

    async def revoke_keys(
        self,
        application: str,
        *,
        sessions: Sequence[str] | None,
        now: float,
        delay: float = 0.0,
        by: Action | None = None,
    ) -> int:
        """Revoke the keys to an application; return their number."""

        def revoke_all(session: Session) -> int:
            documents = list(session.db.execute(SQL["revoke_keys"], (application,)))
            keys = [
                key
                for key in (rows.KEY.decode(text) for (text,) in documents)
                if key.revoked_at is None and (sessions is None or key.session in sessions)
            ]
            for key in keys:
                _save_key_end(session, key, key.revoked(now, delay))
            session.write_entry(by, revoked_target(application, len(keys)))
            return len(keys)

        return await self._threads.write(revoke_all)

    async def _page_keys(self, environment: str, cut: Cut) -> Found[Key]:
        """Return an environment's keys, by id."""
        queries = ("page_keys", "page_keys_down")
        return await self._page_of(queries, environment, cut, rows.KEY)

    async def keep(self, name: str, value: bytes, *, instead_of: bytes | None = None) -> bytes:
        """Save a value under a name unless one exists, or instead of one; return the stored one."""

        def save_and_read(session: Session) -> bytes:
            if instead_of is None:
                session.db.execute(SQL["keep"], (name, value))
            else:
                bounds = {"name": name, "value": value, "of": instead_of}
                session.db.execute(SQL["keep_instead"], bounds)
            stored: bytes | None = session.db.execute(SQL["keep_known"], (name,)).get
            return stored or b""

        return await self._threads.write(save_and_read)

    async def claim(self, claim: Claim, *, now: float) -> Claim:
        """Claim a key for a holder, and return the claim as it is stored then."""

        def claim_and_read(session: Session) -> Claim:
            parameters = asdict(claim)
            session.db.execute(SQL["claim"], {**parameters, "now": now})
            ((*row,),) = session.db.execute(SQL["claim_known"], (claim.environment, claim.key))
            hit("claim.before")
            return Claim(**dict(zip(Claim.__struct_fields__, row, strict=True)))

        stored = await self._threads.write(claim_and_read)
        hit("claim.after")
        return stored

    async def end_claim(self, claim: Claim, end: ClaimEnd) -> None:
        """End a claim, if this holder still has it and it has no answer."""

        def end_or_forget(session: Session) -> None:
            session.db.execute(_ENDS[end], asdict(claim))
            hit("answer.before")

        await self._threads.write(end_or_forget)
        hit("answer.after")

    async def mark_sent(self, notices: Sequence[str]) -> None:
        """Mark notices as sent."""
        ids = [(notice,) for notice in notices]
        await self._threads.write(
            lambda session: session.db.executemany(SQL["mark_sent"], ids).fetchall()
        )

    async def _page_of(
        self, queries: tuple[str, str], environment: str, cut: Cut, decoder: json.Decoder[Value]
    ) -> Found[Value]:
        """Return a page of an environment's records, read with one query for each direction."""
        sql, bounds = _query_of(queries, environment, cut)
        page = await self._threads.browse(
            lambda db: [decoder.decode(text) for (text,) in db.execute(sql, bounds)]
        )
        return Found(cut.in_order(page))


def _query_of(
    queries: tuple[str, str], environment: str, cut: Cut
) -> tuple[str, dict[str, str | int]]:
    """Return the query of a page's direction, and its parameters."""
    up, down = queries
    low, high = cut.between(FIRST, LAST)
    sql, mark = (SQL[up], low) if cut.upwards else (SQL[down], high)
    return sql, {"environment": environment, "mark": mark, "limit": cut.limit}


def _event_type(db: apsw.Connection, environment: str, name: str) -> EventType:
    """Return the environment's event type; NotFound if it has none of this name."""
    document = db.execute(SQL["get_event_type"], (environment, name)).get
    if document is None:
        raise NotFound("event type", name)
    return rows.EVENT_TYPE.decode(document)


def _event_type_row(event_type: EventType) -> dict[str, str | bool]:
    """Return the parameters of a query that stores an event type."""
    return {
        "environment": event_type.environment,
        "name": event_type.name,
        "archived": event_type.archived,
        "document": rows.document(event_type),
    }


def _save_key_end(session: Session, stored: Key, changed: Key) -> Key:
    """Save when a key expires or was revoked."""
    saved = replace(stored, expires_at=changed.expires_at, revoked_at=changed.revoked_at)
    bounds = {"id": saved.id, "ends_at": saved.ends_at, "document": rows.document(saved)}
    session.db.execute(SQL["change_key"], bounds)
    return saved
