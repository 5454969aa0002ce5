"""Data of the HTTP API in this store."""

from collections.abc import Callable, Sequence

from msgspec.structs import astuple, replace

from tarry.errors import Conflict, NotFound
from tarry.service.failpoints import hit
from tarry.service.model.audit import Action, changed, event_type_target, revoked_target
from tarry.service.model.claim import Claim, ClaimEnd
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key, Scope
from tarry.service.model.listing import FIRST, LAST, Cut, Found
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.event_type_page import page_of_event_types
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.part import Part, write_entry
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.database.rows import refuse_nul
from tarry.service.store.postgres.queries import SQL

_ENDS = {
    ClaimEnd.ANSWERED: SQL["end_claim_answered"],
    ClaimEnd.RELEASED: SQL["end_claim_released"],
    ClaimEnd.LAPSED: SQL["end_claim_lapsed"],
}


class PostgresRegistry(RecordsByKind, Part):
    """Event types, keys, kept values and claims."""

    async def _create_event_type(self, event_type: EventType, *, by: Action | None = None) -> None:
        """Add an event type that does not exist yet."""
        row = _from_event_type(event_type)

        async def insert(connection: Connection) -> None:
            if not await connection.fetch(SQL["create_event_type"], *row):
                raise Conflict("event type", event_type.name)
            await write_entry(connection, by, changed(event_type))

        await self._database.run(insert)

    async def _change_event_type(
        self,
        environment: str,
        name: str,
        change: Callable[[EventType], EventType],
        *,
        by: Action | None = None,
    ) -> EventType:
        """Apply `change` to the stored event type."""

        async def change_stored(connection: Connection) -> EventType:
            type_rows = await connection.fetch(SQL["change_event_type_known"], environment, name)
            if not type_rows:
                raise NotFound("event type", name)
            stored = _event_type(type_rows[0])
            saved = replace(change(stored), environment=environment, name=name)
            await connection.execute(SQL["change_event_type"], *_from_event_type(saved))
            await write_entry(connection, by, changed(saved, stored))
            return saved

        return await self._database.run(change_stored)

    async def _delete_event_type(
        self, environment: str, name: str, *, by: Action | None = None
    ) -> None:
        """Delete an event type."""

        async def delete_stored(connection: Connection) -> None:
            if not await connection.fetch(SQL["delete_event_type"], environment, name):
                raise NotFound("event type", name)
            await write_entry(connection, by, event_type_target(name))

        await self._database.run(delete_stored)

    async def _event_type(self, environment: str, name: str) -> EventType:
        """Return the event type of this name."""
        type_rows = await self._database.fetch(SQL["get_event_type"], environment, name)
        if not type_rows:
            raise NotFound("event type", name)
        return _event_type(type_rows[0])

    async def _page_event_types(
        self, environment: str, cut: Cut, *, archived: bool
    ) -> Found[EventType]:
        """Return an environment's event types, by name."""
        queries = (
            ("page_event_types_all", "page_event_types_all_down")
            if archived
            else ("page_event_types", "page_event_types_down")
        )
        sql, mark = _query_of(queries, cut)
        type_rows = await self._database.fetch(sql, environment, mark, cut.limit, cut.most_bytes)
        return page_of_event_types([_event_type(row) for row in type_rows], cut)

    async def _create_key(self, key: Key, *, by: Action | None = None) -> None:
        """Add a new key."""
        refuse_nul(key.id, key.environment, key.name, key.application, key.session)
        refuse_nul(*key.feature_flags)

        async def insert(connection: Connection) -> None:
            if not await connection.fetch(SQL["create_key"], *astuple(key)):
                raise Conflict("key", key.id)
            await write_entry(connection, by, changed(key))

        await self._database.run(insert)

    async def key(self, hashed: bytes) -> Key:
        """Return the key with this hash."""
        key_rows = await self._database.fetch(SQL["key"], hashed)
        if not key_rows:
            raise NotFound("key", "...")
        return _key(key_rows[0])

    async def _change_key(
        self,
        environment: str,
        key: str,
        change: Callable[[Key], Key],
        *,
        by: Action | None = None,
    ) -> Key:
        """Apply `change` to a stored key; only its expiry and revocation are saved."""

        async def change_stored(connection: Connection) -> Key:
            key_rows = await connection.fetch(SQL["change_key_known"], environment, key)
            if not key_rows:
                raise NotFound("key", key)
            stored = _key(key_rows[0])
            new = change(stored)
            ends = {"expires_at": new.expires_at, "revoked_at": new.revoked_at}
            await connection.execute(SQL["change_key"], key, *ends.values())
            saved = replace(stored, **ends)
            await write_entry(connection, by, changed(saved, stored))
            return saved

        return await self._database.run(change_stored)

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
        session_list = None if sessions is None else list(sessions)
        parameters = (
            application,
            session_list,
            now if not delay else None,
            now + delay if delay else None,
        )

        async def revoke_all(connection: Connection) -> int:
            revoked = len(await connection.fetch(SQL["revoke_keys"], *parameters))
            await write_entry(connection, by, revoked_target(application, revoked))
            return revoked

        return await self._database.run(revoke_all)

    async def _page_keys(self, environment: str, cut: Cut) -> Found[Key]:
        """Return an environment's keys, by id."""
        queries = ("page_keys", "page_keys_down")
        return Found([_key(row) for row in await self._page_of(queries, environment, cut)])

    async def keep(self, name: str, value: bytes, *, instead_of: bytes | None = None) -> bytes:
        """Save a value under a name unless one exists, or instead of one; return the stored one."""

        async def save_and_read(connection: Connection) -> bytes:
            if instead_of is None:
                await connection.execute(SQL["keep"], name, value)
            else:
                await connection.execute(SQL["keep_instead"], name, value, instead_of)
            stored = await connection.fetch(SQL["keep_known"], name)
            return stored[0]["value"] if stored else b""

        return await self._database.run(save_and_read)

    async def claim(self, claim: Claim, *, now: float) -> Claim:
        """Claim a key for a holder, and return the claim as it is stored then."""
        refuse_nul(claim.environment, claim.key, claim.holder)
        new_claim = (claim.fingerprint, claim.at, claim.holder, claim.until, now)

        async def claim_and_read(connection: Connection) -> Claim:
            claimed_key = (claim.environment, claim.key)
            claim_rows: list[rows.Row] = []
            while not claim_rows:  # retry if a holder deletes its claim between the two queries
                claim_rows = await connection.fetch(SQL["claim"], *claimed_key, *new_claim)
                claim_rows = claim_rows or await connection.fetch(SQL["claim_known"], *claimed_key)
            hit("claim.before")
            return Claim(**claim_rows[0])

        stored = await self._database.run(claim_and_read)
        hit("claim.after")
        return stored

    async def end_claim(self, claim: Claim, end: ClaimEnd) -> None:
        """End a claim, if this holder still has it and it has no answer."""
        holder = (claim.environment, claim.key, claim.holder)
        answer = (claim.status, claim.body) if end is ClaimEnd.ANSWERED else ()
        hit("answer.before")
        await self._database.execute(_ENDS[end], *holder, *answer)
        hit("answer.after")

    async def mark_sent(self, notices: Sequence[str]) -> None:
        """Mark notices as sent."""
        await self._database.execute(SQL["mark_sent"], list(notices))

    async def _page_of(
        self, queries: tuple[str, str], environment: str, cut: Cut
    ) -> list[rows.Row]:
        """Return the rows of a page, read with one query for each direction."""
        sql, mark = _query_of(queries, cut)
        return cut.in_order(await self._database.fetch(sql, environment, mark, cut.limit))


def _query_of(queries: tuple[str, str], cut: Cut) -> tuple[str, str]:
    """Return the query of a page's direction, and the mark that it starts from."""
    up, down = queries
    low, high = cut.between(FIRST, LAST)
    return (SQL[up], low) if cut.upwards else (SQL[down], high)


def _event_type(row: rows.Row) -> EventType:
    """Return the event type of a row."""
    fields = {name: row[name] for name in EventType.__struct_fields__}
    return EventType(**{**fields, "feature_flags": tuple(row["feature_flags"])})


def _from_event_type(event_type: EventType) -> tuple[object, ...]:
    """Return the parameters of `create_event_type`: its fields in order."""
    row = astuple(event_type)
    refuse_nul(*(value for value in row if isinstance(value, str)), *event_type.feature_flags)
    return row


def _key(row: rows.Row) -> Key:
    """Return the key of a row."""
    fields = {name: row[name] for name in Key.__struct_fields__}
    fields["scopes"] = tuple(Scope(scope) for scope in row["scopes"])
    return Key(**{**fields, "feature_flags": tuple(row["feature_flags"])})
