"""Data keys in this store: created, sealed again and erased."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec.structs import astuple

from tarry.errors import Conflict, NotFound
from tarry.service.model.application import Application
from tarry.service.model.audit import Action, application_target
from tarry.service.model.data_key import DataKey
from tarry.service.model.task import erasing
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import DataKeys
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.queue.tasks import put_task


class SqliteDataKeys(RecordsByKind):
    """Data keys, each of one application."""

    _threads: Threads

    async def erase(self, application: str, *, now: float, by: Action | None = None) -> bool:
        """Delete an application's data key; return whether it had one."""

        def erase_and_wake(session: Session) -> bool:
            stored = _application(session, application)
            data_key = erase_data_key(session, application)
            session.write_entry(by, application_target(application))
            if data_key is None:
                return False
            for (document,) in list(session.db.execute(SQL["add_endpoints"], (application,))):
                endpoint = rows.ENDPOINT.decode(document)
                put_task(session, erasing(endpoint, stored.environment, data_key, now))
                session.db.execute(SQL["put_endpoint_lane_changed"], (endpoint.lane,))
                session.wake([endpoint.lane])
            return True

        return await self._threads.write(erase_and_wake)

    async def _create_data_key(self, data_key: DataKey) -> None:
        """Save an application's first data key."""

        def save_key(session: Session) -> None:
            _application(session, data_key.application)
            with _overwriting(session):
                created = session.db.execute(SQL["create_data_key"], astuple(data_key)).fetchall()
            if not created:
                raise Conflict("data key", data_key.application)

        await self._threads.write(save_key)

    async def _change_data_key(
        self, known_as: str, change: Callable[[DataKey], DataKey]
    ) -> DataKey:
        """Apply `change` to a stored data key; only its sealed form is saved."""

        def change_stored(session: Session) -> DataKey:
            row = session.db.execute(SQL["read_data_keys"], (rows.array([known_as]),)).fetchone()
            if row is None:
                raise NotFound("data key", known_as)
            changed = change(_data_key(row))
            with _overwriting(session):
                session.db.execute(SQL["change_data_key"], (changed.sealed, known_as))
            return changed

        return await self._threads.write(change_stored)

    async def _data_keys(self, query: DataKeys) -> list[DataKey]:
        """Return the data keys with these names, or all of them."""
        sql, bounds = SQL["read_data_keys_all"], rows.Row((query.after, query.limit))
        if query.names is not None:
            sql, bounds = SQL["read_data_keys"], (rows.array(query.names),)
        return await self._threads.read(lambda db: list(map(_data_key, db.execute(sql, bounds))))


def erase_data_key(session: Session, application: str) -> str | None:
    """Delete an application's data key; return its id, None if there is none."""
    with _overwriting(session):
        deleted = session.db.execute(SQL["erase_data_key"], (application,)).fetchall()
    return str(deleted[0][0]) if deleted else None


@contextmanager
def _overwriting(session: Session) -> Iterator[None]:
    """Let SQLite overwrite with zeros what a statement deletes or moves.

    Every statement that writes data keys needs it. A new row can move others to another page, and
    their old copies would stay in the file after they are erased.
    """
    session.db.pragma("secure_delete", value=True)
    try:
        yield
    finally:
        session.db.pragma("secure_delete", value=False)


def _application(session: Session, application: str) -> Application:
    """Return an application as it is stored; NotFound if there is none."""
    document = session.db.execute(SQL["change_application"], (application,)).get
    if document is None:
        raise NotFound("application", application)
    return rows.APPLICATION.decode(document)


def _data_key(row: rows.Row) -> DataKey:
    """Return the data key of a row."""
    key_id, application, sealed, created_at = row
    return DataKey(id=key_id, application=application, sealed=sealed, created_at=created_at)
