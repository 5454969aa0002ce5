"""What a message that was resent leaves behind: its delivery has arrived, or is there at last."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tarry.service.model.attempt import Resent
from tarry.service.store.postgres import rows
from tarry.service.store.postgres.database import Connection
from tarry.service.store.postgres.queries import SQL

Placed = tuple[int, Resent]
"""One, and which of all that is settled it is."""


async def take_away(connection: Connection, batch: Sequence[Placed]) -> list[Placed]:
    """Remove the resends that were made; those that were still there, in order."""
    if not batch:
        return []
    first = {(one.lane, one.resend): (place, one) for place, one in reversed(batch)}
    gone = await connection.fetch(SQL["settle_resent"], *rows.columns(list(first), 2))
    return sorted(first[row["lane"], row["id"]] for row in gone)


async def places(connection: Connection, made: Sequence[Resent]) -> dict[tuple[int, str], int]:
    """Where the deliveries of their messages are in the lanes, 0 if there are none.

    The messages are held until the commit.
    """
    first = _by_delivery(made)
    if not first:
        return {}
    found = await connection.fetch(SQL["settle_places"], *rows.columns(list(first), 2))
    return {(row["lane"], row["message"]): row["seq"] or 0 for row in found}


def missing(made: Sequence[Resent], known: Mapping[tuple[int, str], int]) -> list[Resent]:
    """Those of messages that have no delivery in the lane."""
    return [one for key, one in _by_delivery(made).items() if known.get(key) == 0]


async def add_missing(connection: Connection, new: Sequence[Resent]) -> None:
    """Add the deliveries of those that were missing, which have ended."""
    if not new:
        return
    many = Counter(one.lane for one in new)
    lanes = list(many), list(many.values())
    taken = await connection.fetch(SQL["add_lanes"], *lanes, [False] * len(many))
    last = {row["number"]: row["added"] for row in taken}
    told = []
    for one in new:
        last[one.lane] += 1
        left = one.delivery(last[one.lane])
        ended = (left.state, left.reason, left.tries, left.accepted_at, left.ended_at)
        told.append((left.lane, left.seq, left.message, *ended))
    await connection.execute(SQL["settle_added"], *rows.columns(told, 8))
    await connection.execute(SQL["add_ended"], *lanes)


async def arrive(connection: Connection, made: Sequence[Resent]) -> None:
    """Have deliveries arrive that had failed or were skipped, if they were taken now."""
    first = _by_delivery([one for one in made if one.arrived])
    if first:
        arrived = [(lane, message, one.attempt.at) for (lane, message), one in first.items()]
        await connection.execute(SQL["settle_arrived"], *rows.columns(arrived, 3))


def _by_delivery(made: Sequence[Resent]) -> dict[tuple[int, str], Resent]:
    """The first one for each delivery, in order."""
    first: dict[tuple[int, str], Resent] = {}
    for one in made:
        first.setdefault((one.lane, one.attempt.message), one)
    return first
