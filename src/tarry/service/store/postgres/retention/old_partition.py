"""Remove an old partition of messages with all rows that belong to them, except live messages.

First, no ended delivery of its messages may become live again. Then its messages are read in
pieces: their other rows are removed, and messages that must stay are noted. At last the partition
is dropped, and the noted messages move to the default partition.
"""

from collections.abc import Iterable, Sequence

from tarry.service.model import ids
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.retention.partitions import GENTLY, Partition, detach, drop

MOST_LIVE_MESSAGES = 1_000
"""With more live messages than this, a partition stays, and ended ones are removed by rows."""
CROWDED = -1
"""The result of `process` when a partition stays."""


async def begin(connection: Connection, old: Partition, before: float) -> bool:
    """Start to remove a partition, except messages from `before` on; False if another leaves."""
    await connection.execute(f"SET LOCAL lock_timeout = '{GENTLY}'")
    await connection.execute(SQL["sweep_leaving_lock"])
    # Waits for open inserts into the partition: later ones are seen by the trigger.
    await connection.execute(f"LOCK TABLE tarry.{old.name} IN SHARE ROW EXCLUSIVE MODE")
    if not await connection.fetch(SQL["sweep_leaving_begin"], old.since, old.until, before):
        return False
    (trigger,) = await connection.fetch(SQL["sweep_leaving_watched"], f"tarry.{old.name}")
    if not trigger["watched"]:
        await connection.execute(
            f"CREATE TRIGGER keep_late AFTER INSERT ON tarry.{old.name}"
            " FOR EACH ROW EXECUTE FUNCTION tarry.keep_late()"
        )
    return True


async def process(connection: Connection, limit: int) -> int:
    """Process at most `limit` messages of the leaving partition; return their number."""
    for since, until, before, cursor, kept_ids in await _leaving(connection):
        messages = await connection.fetch(
            SQL["sweep_leaving_messages"], since, until, cursor, before, limit
        )
        if not messages:
            return 0
        staying_ids = [row["id"] for row in messages if row["kept"]]
        if len(kept_ids) + len(staying_ids) > MOST_LIVE_MESSAGES:
            await connection.execute(SQL["sweep_leaving_end"])
            return CROWDED
        await _forget_ended(connection, [row for row in messages if not row["kept"]], until)
        await connection.execute(SQL["sweep_leaving_noted"], messages[-1]["id"], staying_ids)
        return len(messages)
    return 0


async def end(connection: Connection, existing: Sequence[Partition]) -> int:
    """Drop the leaving partition if all is processed; return 1 + the messages that moved."""
    for since, until, before, cursor, kept_ids in await _leaving(connection):
        old = next((partition for partition in existing if partition.since == since), None)
        if await connection.fetch(SQL["sweep_leaving_messages"], since, until, cursor, before, 1):
            return 0
        if old is not None:
            # A late insert into the partition waits for the row locked here, so `detach` fails. It
            # is tried again once the trigger has noted that message.
            await detach(connection, old)
            await drop(connection, old, "id", kept_ids)
        await connection.execute(SQL["sweep_leaving_end"])
        return 1 + len(kept_ids)
    return 0


async def messages_that_stay(connection: Connection, messages: Iterable[str]) -> set[str]:
    """Return those of these messages that are not in a leaving partition.

    No partition of theirs can start to leave before this transaction ends, so a delivery that
    it makes live will be seen.
    """
    spans = [tuple(row.values()) for row in await connection.fetch(SQL["sweep_leaving"])]
    return {
        message
        for message in messages
        if not any(since <= message < until for since, until in spans)
    }


async def forget(connection: Connection, message_rows: Sequence[rows.Row]) -> list[rows.Row]:
    """Remove the deliveries, keys and event ids of messages; return the deliveries."""
    messages = [row["id"] for row in message_rows]
    lanes = [lane for row in message_rows for lane in row["lanes"]]
    seqs = [seq for row in message_rows for seq in row["seqs"]]
    deliveries: list[rows.Row] = await connection.fetch(SQL["sweep_deliveries"], lanes, seqs)
    await connection.execute(SQL["sweep_message_keys"], *_names_in(message_rows, "key"), messages)
    await connection.execute(SQL["sweep_events"], *_names_in(message_rows, "event_id"))
    return deliveries


async def _leaving(connection: Connection) -> list[tuple[str, str, float, str, list[str]]]:
    """Return the leaving partition, locked until the commit; none if another process has it."""
    return [tuple(row.values()) for row in await connection.fetch(SQL["sweep_leaving_walked"])]


async def _forget_ended(
    connection: Connection, message_rows: Sequence[rows.Row], until: str
) -> None:
    """Remove what belongs to messages of a partition that is about to be dropped."""
    if not message_rows:
        return
    deliveries = await forget(connection, message_rows)
    # Attempts of the same time go with their own partition; few messages have later ones.
    ended = ids.made_at(until)
    late = [row["message"] for row in deliveries if (row["ended_at"] or ended) >= ended]
    await connection.execute(SQL["sweep_leaving_attempts"], [row["id"] for row in message_rows])
    if late:
        await connection.execute(SQL["sweep_attempts"], late)


def _names_in(message_rows: Sequence[rows.Row], column: str) -> list[list[object]]:
    """Return the applications and the names of the rows that have a name in this column."""
    return rows.columns(
        [(row["application"], row[column]) for row in message_rows if row[column] is not None], 2
    )
