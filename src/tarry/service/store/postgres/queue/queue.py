"""Leases of shards, wake-ups of lanes, and the deliveries that the dispatcher can send."""

from collections.abc import Iterable, Mapping, Sequence

from tarry.service.failpoints import hit
from tarry.service.model.delivery import Reason
from tarry.service.model.lane import Fetched, LaneRow, Lease, Want
from tarry.service.store.contract import NO_RECORDS, TOO_LONG, Nudge, Server
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.listen import Listening
from tarry.service.store.postgres.database.part import Part, held
from tarry.service.store.postgres.database.pool import Connection, Mode
from tarry.service.store.postgres.queries import SQL

LOCKED_TOO_LONG = 5.0
"""Seconds after the end of a lease at which a session that still locks the shard is ended."""


class PostgresQueue(Part):
    """Implements `contract.Queue`, except for what saves results. All times are the database's.

    Calls that keep leases are urgent: they have their own connection.
    """

    _listening: Listening

    # --- Leases ---------------------------------------------------------------------------------

    async def lease(self, worker: str, *, most: int, length: float) -> list[Lease]:
        """Take shards that are free or whose lease has ended, until `worker` owns `most` shards."""
        hit("lease.before")
        await self._database.urgent(SQL["lease_freed"], LOCKED_TOO_LONG)
        taken = await self._database.urgent(SQL["lease"], worker, most, length, TOO_LONG * length)
        hit("lease.after")
        return [
            Lease(row["number"], row["epoch"], worker, row["clean"]) for row in _by_number(taken)
        ]

    async def renew(self, worker: str, leases: Sequence[Lease], *, length: float) -> list[Lease]:
        """Extend the leases; return those that are still owned."""
        own = [(lease.shard, lease.epoch) for lease in leases if lease.worker == worker]
        hit("renew.before")
        renewed = await self._database.urgent(SQL["renew"], worker, *rows.columns(own, 2), length)
        hit("renew.after")
        owned = {row["number"] for row in renewed}
        return [
            lease for lease in leases if (lease.shard, lease.epoch) in own and lease.shard in owned
        ]

    async def release(self, leases: Sequence[Lease]) -> None:
        """Give shards back."""
        lease_rows = [(lease.shard, lease.epoch, lease.worker) for lease in leases]
        hit("release.before")
        await self._database.execute(SQL["release"], *rows.columns(lease_rows, 3))
        hit("release.after")

    async def server(self) -> Server:
        """Return the time of the server that answers now, its start, and the live workers."""
        (row,) = await self._database.urgent(SQL["server"])
        return Server(row["now"], row["started_at"], row["workers"])

    # --- Lanes that are awake or were woken -----------------------------------------------------

    async def awake(self, shards: Sequence[int]) -> list[int]:
        """Return the lanes of these shards that are not at rest."""
        lane_rows = await self._database.fetch(SQL["awake"], list(shards))
        return [row["number"] for row in lane_rows]

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        """Return the lanes of these shards that were woken since the last call, each once."""
        lease_rows = [(lease.shard, lease.epoch, lease.worker) for lease in leases]
        hit("woken.before")
        wake_ups = await self._database.execute(SQL["woken"], *rows.columns(lease_rows, 3))
        hit("woken.after")
        return sorted({row["lane"] for row in wake_ups})

    def listen(self, nudge: Nudge) -> None:
        """Call `nudge()` soon after a lane was woken or a row was added to the outbox."""
        self._listening.add(nudge)

    async def rest(
        self, lanes: Mapping[int, int], leases: Iterable[Lease], *, doze: bool = False
    ) -> set[int]:
        """Put lanes to rest that have nothing to send, or let lanes doze; return their numbers."""
        if not lanes:
            return set()
        query, lease_list = SQL["rest_doze" if doze else "rest"], list(leases)

        async def let_rest(connection: Connection) -> set[int]:
            epochs = await held(connection, lanes, lease_list)
            # `add` locks the lane's row until its commit. So a new delivery is either visible by
            # now, or it comes later and finds the lane at rest.
            await connection.fetch(SQL["rest_lock"], list(epochs))
            resting = await connection.fetch(query, list(epochs), [lanes[lane] for lane in epochs])
            hit("rest.before")
            return {row["number"] for row in resting}

        rested = await self._database.run(let_rest, Mode.WRITE)
        hit("rest.after")
        return rested

    # --- Deliveries, and the records of origins -------------------------------------------------

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        """Return these lanes, without lanes that are gone."""
        lane_rows = await self._database.fetch(SQL["lanes"], list(lanes))
        return [rows.lane(row) for row in lane_rows]

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        """Return deliveries that these lanes can send next."""
        fetched = Fetched([], {}, {}, {})
        if not wants:
            return fetched
        want_rows = [
            (want.lane, want.stream, want.limit, want.after, want.before, want.due_after)
            for want in wants
        ]
        columns = rows.columns(want_rows, 6)
        for row in await self._database.fetch(SQL["fetch"], *columns, now, most_bytes):
            fetched.added[row["lane"]] = row["added"]
            fetched.versions[row["lane"]] = row["version"]
            if row["next_due_at"] is not None:
                fetched.next_due_at[row["lane"]] = row["next_due_at"]
            if row["message"] is not None:
                fetched.due.append(rows.due(row))
        return fetched

    async def expire(
        self, lane: int, *, accepted_before: float, now: float, limit: int, lease: Lease
    ) -> int:
        """End live deliveries that are too old; return their number."""

        async def end_old(connection: Connection) -> int:
            if not await held(connection, [lane], [lease]):
                return 0
            ended = await connection.fetch(
                SQL["expire"], lane, accepted_before, now, limit, Reason.AGED
            )
            if ended:
                await connection.execute(SQL["add_ended"], [lane], [len(ended)])
            hit("expire.before")
            return len(ended)

        expired = await self._database.run(end_old)
        hit("expire.after")
        return expired

    async def origins(self, names: Sequence[str]) -> list[bytes]:
        """Return the record saved by `learn` for each of these origins."""
        origin_rows = await self._database.fetch(SQL["origins"], list(names))
        records = {row["origin"]: bytes(row["known"]) for row in origin_rows}
        return [records.get(name, b"") for name in names]

    async def learn(
        self, origins: Mapping[str, bytes], *, expected: Mapping[str, bytes] = NO_RECORDS
    ) -> dict[str, bytes]:
        """Save what was learned about origins; return the records that were not replaced."""
        if not origins:
            return {}
        texts = [*origins.values()]
        before = [expected.get(name) for name in origins]
        hit("learn.before")
        saved_rows = await self._database.execute(SQL["learn"], [*origins], texts, before)
        hit("learn.after")
        replaced = {row["origin"] for row in saved_rows}
        not_replaced = [name for name in origins if name not in replaced]
        if not not_replaced:
            return {}
        return dict(zip(not_replaced, await self.origins(not_replaced), strict=True))


def _by_number(shard_rows: list[rows.Row]) -> list[rows.Row]:
    """Return the rows of shards in the order of their numbers."""
    return sorted(shard_rows, key=lambda row: row["number"])
