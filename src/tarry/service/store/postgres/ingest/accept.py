"""Accept messages: number their deliveries in the lanes, and save all in one transaction."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence

from msgspec.structs import astuple

from tarry.errors import ErasedKeyError
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.message import Accepted, Message, NewMessage
from tarry.service.store.postgres.database.faults import Stale
from tarry.service.store.postgres.database.part import held_data_keys, insert_many, notify_owners
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.ingest.decide import Result, decide
from tarry.service.store.postgres.ingest.routes import Route, Routes
from tarry.service.store.postgres.queries import SQL

MESSAGE = (*Message.__struct_fields__, "key", "lanes", "seqs")
DELIVERY = ("lane", "seq", "message", "state", "reason", "due_at", "accepted_at", "ended_at")

ROWS_IN_A_PIECE = 5000
"""After how many deliveries, or endpoints that were looked at, other tasks of the loop may go on. A
batch for many endpoints has a million deliveries."""
MOST_ROWS = 20_000
"""About how many deliveries are prepared at a time. A million of them would take half a gigabyte,
and freeing them would take a tenth of a second."""

Routed = tuple[NewMessage, list[Route]]


async def accept(
    connection: Connection, routes: Routes, messages: Sequence[NewMessage], *, limited: bool = True
) -> list[Result]:
    """Accept messages inside this transaction; return one result for each.

    Without `limited`, the applications' `most_waiting` limits are ignored.
    """
    tenants = await routes.tenants(connection, {new.message.application for new in messages})
    results = await decide(connection, tenants, messages, limited=limited)
    accepted = list[Routed]()
    looked_at = 0
    for new, result in zip(messages, results, strict=True):
        if isinstance(result, Accepted) and not result.repeated:
            tenant = tenants[new.message.application]
            accepted.append((new, tenant.to(new.message, new.only)))
            looked_at += len(tenant.routes)
            if looked_at >= ROWS_IN_A_PIECE:
                looked_at = 0
                await asyncio.sleep(0)
    try:
        woken = await _save(connection, accepted)
    except Stale:
        routes.forget(new.message.application for new, _ in accepted)
        raise
    data_keys = {new.message.sealed_with for new in messages if new.message.application in tenants}
    if not data_keys <= await held_data_keys(connection, data_keys):
        raise ErasedKeyError
    await notify_owners(connection, woken)
    return results


async def _save(connection: Connection, accepted: Sequence[Routed]) -> list[int]:
    """Write accepted messages with their deliveries; return the lanes whose owners to notify."""
    seqs, woken = await _take_numbers(connection, accepted)
    messages: list[tuple[object, ...]] = []
    deliveries: list[tuple[object, ...]] = []
    skipped: Counter[int] = Counter()
    async for new, routes in _in_pieces(accepted):
        lanes = [route.endpoint.lane for route in routes]
        new_seqs = []
        for route in routes:
            lane = route.endpoint.lane
            seqs[lane] += 1
            new_seqs.append(seqs[lane])
            deliveries.append((lane, seqs[lane], *_start(new.message, route.endpoint.standing)))
            skipped[lane] += route.endpoint.skips
        messages.append((*astuple(new.message), new.key, lanes, new_seqs))
        if len(deliveries) >= MOST_ROWS:
            await _insert(connection, messages, deliveries)
            messages, deliveries = [], []
    await _insert(connection, messages, deliveries)
    if skipped := +skipped:
        await connection.execute(SQL["add_ended"], list(skipped), list(skipped.values()))
    return woken


async def _insert(
    connection: Connection,
    messages: Sequence[tuple[object, ...]],
    deliveries: Sequence[tuple[object, ...]],
) -> None:
    """Insert messages, and then their deliveries."""
    await insert_many(connection, "add_messages", "message", MESSAGE, messages)
    await insert_many(connection, "add_deliveries", "delivery", DELIVERY, deliveries)


async def _take_numbers(
    connection: Connection, accepted: Sequence[Routed]
) -> tuple[dict[int, int], list[int]]:
    """Return the last sequence number of each lane before these messages, and the lanes to wake."""
    route_of_lane: dict[int, Route] = {}
    added: Counter[int] = Counter()
    async for _, routes in _in_pieces(accepted):
        route_of_lane |= {route.endpoint.lane: route for route in routes}
        added.update(route.endpoint.lane for route in routes)
    if not route_of_lane:
        return {}, []
    live = [not route_of_lane[lane].endpoint.skips for lane in added]
    lane_rows = await connection.fetch(SQL["add_lanes"], list(added), list(added.values()), live)
    versions = {row["number"]: row["version"] for row in lane_rows}
    if any(versions.get(lane) != route.version for lane, route in route_of_lane.items()):
        raise Stale
    scheduled = {
        route.endpoint.lane
        for new, routes in accepted
        if new.message.is_scheduled
        for route in routes
        if not route.endpoint.skips
    }
    woken = [row["number"] for row in lane_rows if row["woken"] or row["number"] in scheduled]
    return {row["number"]: row["added"] for row in lane_rows}, woken


async def _in_pieces(accepted: Sequence[Routed]) -> AsyncIterator[Routed]:
    """Yield messages with their routes, and let other tasks of the loop go on now and then."""
    done = 0
    for new, routes in accepted:
        yield new, routes
        done += len(routes)
        if done >= ROWS_IN_A_PIECE:
            done = 0
            await asyncio.sleep(0)


def _start(message: Message, standing: Standing) -> tuple[object, ...]:
    """Return the first values of a delivery: the columns from `message` on."""
    at = message.accepted_at
    if standing is Standing.DISABLED:
        return (message.id, State.SKIPPED, Reason.SKIPPED, None, at, at)
    if message.is_scheduled:
        due_at = message.deliver_at
        return (message.id, State.WAITING, Reason.SCHEDULED, due_at, due_at, None)
    return (message.id, State.READY, Reason.NEW, None, at, None)
