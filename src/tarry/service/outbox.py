"""Write a message to the outbox in your own PostgreSQL transaction: it is sent if that commits.

    with psycopg.connect(...) as connection:
        connection.execute("INSERT INTO orders ...")
        put(connection, application="app_...", event_type="order.paid", payload=b"{}")

This runs only one INSERT into `tarry.outbox`, on the given connection. A dispatcher accepts the
message soon after the commit. It must be the database that tarry works on. Programs in other
languages insert into the table themselves: all columns but `application`, `event_type` and
`payload` have defaults.
"""

import os
import re
import time
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from tarry.errors import SettingsError, StoreError
from tarry.service.model import ids
from tarry.service.model.allowed import check_names, check_size
from tarry.service.model.text import check_instant, check_text
from tarry.service.store.postgres.queries import SQL

ASYNCPG = SQL["collect_put"]
PSYCOPG = re.sub(r"\$\d", "%s", ASYNCPG)  # the same, with psycopg's placeholders


def put(  # noqa: PLR0913  one argument a field of the message
    connection: Any,  # noqa: ANN401  of any driver: tarry needs none of them installed
    *,
    application: str,
    event_type: str,
    payload: bytes,
    event_id: str | None = None,
    channels: Sequence[str] = (),
    tags: Sequence[str] = (),
    deliver_at: float | None = None,
) -> str:
    """Write a message to the outbox with a psycopg connection or cursor; return the message's id.

    An unknown application, or an event id that was used before, is noticed only after the
    commit: the message is then in `tarry.outbox_refused`, and a notice reports it.
    """
    row = _Put(application, event_type, payload, event_id, channels, tags, deliver_at).row()
    driver = _driver(connection)
    if driver != "psycopg" or _is_async(connection):
        raise _unknown(connection, "put", "a connection or cursor of psycopg")
    connection.execute(_psycopg(connection), row)
    return str(row[0])


async def aput(  # noqa: PLR0913  one argument a field of the message
    connection: Any,  # noqa: ANN401  of any driver: tarry needs none of them installed
    *,
    application: str,
    event_type: str,
    payload: bytes,
    event_id: str | None = None,
    channels: Sequence[str] = (),
    tags: Sequence[str] = (),
    deliver_at: float | None = None,
) -> str:
    """Do the same as `put` with an asyncpg connection, or an async one of psycopg."""
    row = _Put(application, event_type, payload, event_id, channels, tags, deliver_at).row()
    driver = _driver(connection)
    if driver == "asyncpg":
        await connection.execute(ASYNCPG, *row)
    elif driver == "psycopg" and _is_async(connection):
        await connection.execute(_psycopg(connection), row)
    else:
        raise _unknown(connection, "aput", "a connection of asyncpg, or an async one of psycopg")
    return str(row[0])


class _Put(Struct, frozen=True):
    """A message that a caller wants to send."""

    application: str
    event_type: str
    payload: object  # the caller may pass something other than bytes
    event_id: str | None
    channels: Sequence[str]
    tags: Sequence[str]
    deliver_at: float | None

    def row(self) -> tuple[object, ...]:
        """Return its row with a new id; SettingsError if the message cannot be sent."""
        if not isinstance(self.payload, bytes):
            wanted = "bytes, which are signed and sent as they are"
            raise SettingsError("payload", self.payload, wanted)
        check_size(self.payload)
        check_names(self.event_type, self.event_id, self.channels, self.tags)
        check_text("application", self.application)
        if not self.application.startswith(ids.APPLICATION):
            wanted = f"the id of an application, which begins with {ids.APPLICATION}"
            raise SettingsError("application", self.application, wanted)
        check_instant("deliver_at", self.deliver_at)
        return (
            ids.make(ids.MESSAGE, now=time.time(), entropy=os.urandom(ids.CHANCE)),
            self.application,
            self.event_type,
            self.payload,
            self.event_id,
            list(self.channels),
            list(self.tags),
            None if self.deliver_at is None else float(self.deliver_at),
        )


def _psycopg(connection: object) -> str:
    """Return the statement for this connection or cursor: raw cursors use PostgreSQL's own form."""
    cursor = getattr(connection, "cursor_factory", type(connection))
    raw = any("Raw" in kind.__name__ for kind in cursor.__mro__)
    return ASYNCPG if raw else PSYCOPG


def _driver(connection: object) -> str:
    """Return the driver of a connection, by its class or a base class of it.

    A pool is refused: it would run the statement on any connection, outside the transaction.
    """
    if any(kind.__name__ == "Pool" for kind in type(connection).__mro__):
        return ""
    modules = {kind.__module__.partition(".")[0] for kind in type(connection).__mro__}
    return next((driver for driver in ("asyncpg", "psycopg") if driver in modules), "")


def _is_async(connection: object) -> bool:
    return any(kind.__name__.startswith("Async") for kind in type(connection).__mro__)


def _unknown(connection: object, function: str, wanted: str) -> StoreError:
    """Return the error for a connection of a kind that the function does not accept."""
    kind = type(connection)
    other = "aput" if function == "put" else "put"
    return StoreError(
        f"{function} takes {wanted}, not {kind.__module__}.{kind.__qualname__};"
        f" for others see {other}, or insert into tarry.outbox yourself"
    )
