"""Save the results of resends: update the message's delivery, or add one."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tarry.service.model.attempt import Resent
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.queries import SQL

Placed = tuple[int, Resent]
"""A `Resent` and its index among all settlements of the call."""


async def take_away(connection: Connection, batch: Sequence[Placed]) -> list[Placed]:
    """Delete the resends that were sent; return those that still existed, in order."""
    if not batch:
        return []
    first = {(one.lane, one.resend): (place, one) for place, one in reversed(batch)}
    gone = await connection.fetch(SQL["settle_resent"], *rows.columns(list(first), 2))
    return sorted(first[row["lane"], row["id"]] for row in gone)


async def places(connection: Connection, made: Sequence[Resent]) -> dict[tuple[int, str], int]:
    """Return the sequence numbers of the messages' deliveries in their lanes, 0 if there is none.

    The messages are locked until the commit.
    """
    first = _by_delivery(made)
    if not first:
        return {}
    found = await connection.fetch(SQL["settle_places"], *rows.columns(list(first), 2))
    return {(row["lane"], row["message"]): row["seq"] or 0 for row in found}


def missing(made: Sequence[Resent], known: Mapping[tuple[int, str], int]) -> list[Resent]:
    """Return those whose message has no delivery in the lane."""
    return [one for key, one in _by_delivery(made).items() if known.get(key) == 0]


async def add_missing(connection: Connection, new: Sequence[Resent]) -> None:
    """Add ended deliveries for messages that had none in the lane."""
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
    """Mark FAILED or SKIPPED deliveries as DELIVERED if the resend was accepted."""
    first = _by_delivery([one for one in made if one.arrived])
    if first:
        arrived = [(lane, message, one.attempt.at) for (lane, message), one in first.items()]
        await connection.execute(SQL["settle_arrived"], *rows.columns(arrived, 3))


def _by_delivery(made: Sequence[Resent]) -> dict[tuple[int, str], Resent]:
    """Return the first resend of each delivery, in order."""
    first: dict[tuple[int, str], Resent] = {}
    for one in made:
        first.setdefault((one.lane, one.attempt.message), one)
    return first
