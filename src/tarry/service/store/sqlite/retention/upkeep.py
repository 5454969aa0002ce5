"""Maintenance of this store."""

from functools import partial
from pathlib import Path

import apsw

from tarry.service.failpoints import hit
from tarry.service.store.contract import Retention
from tarry.service.store.old_rows import OldRows
from tarry.service.store.sqlite.database.own_thread import in_own_thread
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.migrate import schema
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.retention.backup import back_up


class SqliteUpkeep:
    """See `contract.Upkeep`."""

    _threads: Threads
    _old_messages: OldRows[int]
    _old_payloads: OldRows[int]
    _expired: OldRows[int]

    async def sweep(self, retention: Retention, *, limit: int) -> int:
        """Remove data past its retention; return the number of rows, 0 when there is no more."""
        old, full = self._old_messages, self._old_payloads
        messages = await self._removable(old, "sweep_messages", retention.messages_before, limit)
        payloads = await self._removable(full, "sweep_payloads", retention.payloads_before, limit)
        before = retention.expired_before
        payloads += await self._removable(self._expired, "sweep_expired", before, limit)

        def remove_old(session: Session) -> int:
            changes = session.db.total_changes()
            _forget(session.db, messages)
            over = ((message,) for message in payloads if _is_over(session.db, message))
            session.db.executemany(SQL["sweep_payload"], over)
            for query, before in (
                ("sweep_keys", retention.keys_before),
                ("sweep_notices", retention.notices_before),
                ("sweep_tasks", retention.tasks_before),
                ("sweep_claims", retention.claims_before),
                ("sweep_portal_keys", retention.portal_keys_before),
                ("sweep_audit", retention.audit_before),
            ):
                if before is not None:
                    session.db.execute(SQL[query], (before, limit))
            hit("sweep.before")
            return session.db.total_changes() - changes

        swept = await self._threads.write(remove_old)
        hit("sweep.after")
        return swept

    async def backup(self, target: Path) -> None:
        """Write a consistent copy while the store is in use."""
        await in_own_thread(partial(back_up, self._threads.path, target))

    async def check(self) -> None:
        """Raise if the database cannot be written to, or its schema is not the right one."""

        def try_to_write(session: Session) -> None:
            schema.require(session.db)
            session.db.execute(SQL["check"])

        await self._threads.write(try_to_write)

    async def close(self) -> None:
        """Finish running work and close the file."""
        await self._threads.close()

    async def _removable(
        self, old_rows: OldRows[int], query: str, before: float | None, limit: int
    ) -> list[int]:
        """Return the messages that a query finds to be old, and that may be removed now."""
        if before is None:
            return []

        async def read_rows(at: float, behind: int, most: int) -> list[tuple[float, int, bool]]:
            bounds = {"before": before, "at": at, "behind": behind, "limit": most}
            return await self._threads.survey(lambda db: list(db.execute(SQL[query], bounds)))

        return await old_rows.removable(read_rows, limit=limit)


def _is_over(db: apsw.Connection, message: int) -> bool:
    """Return whether a message has no live delivery and no resend."""
    return bool(db.execute(SQL["sweep_over"], (message,)).get)


def _forget(db: apsw.Connection, messages: list[int]) -> None:
    """Delete those of the messages that are over, with all that belongs to them."""
    ended = [(message,) for message in messages if _is_over(db, message)]
    for query in ("sweep_attempts", "sweep_deliveries", "sweep_key", "sweep_message"):
        db.executemany(SQL[query], ended)
