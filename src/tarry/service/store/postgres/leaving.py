"""Let an old partition of messages go: with what points to it, and without what still waits.

First nobody may bring back what has ended in it. Then its messages are gone through in pieces: what
else is known of them is removed, and those that have to stay are noted. Then the partition is
dropped, and the noted ones move to the default one.
"""

from collections.abc import Iterable, Sequence

from tarry.service.model import ids
from tarry.service.store.postgres import rows
from tarry.service.store.postgres.database import Connection
from tarry.service.store.postgres.partitions import GENTLY, Partition, detach, drop
from tarry.service.store.postgres.queries import SQL

MOST_KEPT = 1_000
"""With more messages that wait a partition stays, and what has ended in it is removed by rows."""
CROWDED = -1
"""The answer of `walk` when a partition stays."""


async def begin(connection: Connection, old: Partition, before: float) -> bool:
    """Let a partition leave whose messages were accepted before an instant, but for a few."""
    await connection.execute(f"SET LOCAL lock_timeout = '{GENTLY}'")
    await connection.execute(SQL["sweep_leaving_lock"])
    # Whoever has put something into it before it is watched has ended by now.
    await connection.execute(f"LOCK TABLE tarry.{old.name} IN SHARE ROW EXCLUSIVE MODE")
    if not await connection.fetch(SQL["sweep_leaving_begin"], old.since, old.until, before):
        return False
    (found,) = await connection.fetch(SQL["sweep_leaving_watched"], f"tarry.{old.name}")
    if not found["watched"]:
        await connection.execute(
            f"CREATE TRIGGER keep_late AFTER INSERT ON tarry.{old.name}"
            " FOR EACH ROW EXECUTE FUNCTION tarry.keep_late()"
        )
    return True


async def walk(connection: Connection, limit: int) -> int:
    """Go through at most so many messages of the partition that leaves; how many it were."""
    for since, until, before, cursor, kept in await _leaving(connection):
        seen = await connection.fetch(
            SQL["sweep_leaving_messages"], since, until, cursor, before, limit
        )
        if not seen:
            return 0
        more = [row["id"] for row in seen if row["kept"]]
        if len(kept) + len(more) > MOST_KEPT:
            await connection.execute(SQL["sweep_leaving_end"])
            return CROWDED
        await _forget_ended(connection, [row for row in seen if not row["kept"]], until)
        await connection.execute(SQL["sweep_leaving_noted"], seen[-1]["id"], more)
        return len(seen)
    return 0


async def end(connection: Connection, there: Sequence[Partition]) -> int:
    """Drop the partition that leaves, if it was gone through; one, and how many messages moved."""
    for since, until, before, cursor, kept in await _leaving(connection):
        old = next((one for one in there if one.since == since), None)
        if await connection.fetch(SQL["sweep_leaving_messages"], since, until, cursor, before, 1):
            return 0
        if old is not None:
            # Whoever puts something into it now waits for what is held here: this fails, and is
            # tried again when that was noted.
            await detach(connection, old)
            await drop(connection, old, "id", kept)
        await connection.execute(SQL["sweep_leaving_end"])
        return 1 + len(kept)
    return 0


async def staying(connection: Connection, messages: Iterable[str]) -> set[str]:
    """Those of these messages that are in no partition which leaves.

    None gets into one before the transaction has ended: what it brings back is seen to wait.
    """
    spans = [tuple(row.values()) for row in await connection.fetch(SQL["sweep_leaving"])]
    return {
        message
        for message in messages
        if not any(since <= message < until for since, until in spans)
    }


async def forget(connection: Connection, found: Sequence[rows.Row]) -> list[rows.Row]:
    """Remove deliveries, keys and senders' ids of messages; the deliveries."""
    messages = [row["id"] for row in found]
    lanes = [lane for row in found for lane in row["lanes"]]
    seqs = [seq for row in found for seq in row["seqs"]]
    deliveries: list[rows.Row] = await connection.fetch(SQL["sweep_deliveries"], lanes, seqs)
    await connection.execute(SQL["sweep_message_keys"], *_named(found, "key"), messages)
    await connection.execute(SQL["sweep_events"], *_named(found, "event_id"))
    return deliveries


async def _leaving(connection: Connection) -> list[tuple[str, str, float, str, list[str]]]:
    """The one that leaves, held until the commit; none if somebody else has it."""
    return [tuple(row.values()) for row in await connection.fetch(SQL["sweep_leaving_walked"])]


async def _forget_ended(connection: Connection, gone: Sequence[rows.Row], until: str) -> None:
    if not gone:
        return
    deliveries = await forget(connection, gone)
    # Attempts of the same time go with their partition; most messages have no later ones.
    ended = ids.made_at(until)
    late = [row["message"] for row in deliveries if (row["ended_at"] or ended) >= ended]
    await connection.execute(SQL["sweep_leaving_attempts"], [row["id"] for row in gone])
    if late:
        await connection.execute(SQL["sweep_attempts"], late)


def _named(found: Sequence[rows.Row], column: str) -> list[list[object]]:
    """The applications and names of those that have one."""
    return rows.columns(
        [(row["application"], row[column]) for row in found if row[column] is not None], 2
    )
