"""Deliveries that can be sent next, and deliveries that are too old."""

from collections.abc import Mapping, Sequence

from tarry.service.failpoints import hit
from tarry.service.model.delivery import Reason
from tarry.service.model.lane import Fetched, LaneRow, Lease, Want
from tarry.service.store.contract import NO_RECORDS
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.part import Part, held
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.queries import SQL


class PostgresQueue(Part):
    """The part of `contract.Queue` that reads lanes and expires deliveries."""

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        """Return these lanes, without lanes that are gone."""
        found = await self._database.fetch(SQL["lanes"], list(lanes))
        return [rows.lane(row) for row in found]

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        """Return deliveries that these lanes can send next."""
        fetched = Fetched([], {}, {}, {})
        if not wants:
            return fetched
        asked = [
            (want.lane, want.stream, want.limit, want.after, want.before, want.due_after)
            for want in wants
        ]
        columns = rows.columns(asked, 6)
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

        async def end(connection: Connection) -> int:
            if not await held(connection, [lane], [lease]):
                return 0
            ended = await connection.fetch(
                SQL["expire"], lane, accepted_before, now, limit, Reason.AGED
            )
            if ended:
                await connection.execute(SQL["add_ended"], [lane], [len(ended)])
            hit("expire.before")
            return len(ended)

        expired = await self._database.run(end)
        hit("expire.after")
        return expired

    async def origins(self, names: Sequence[str]) -> list[bytes]:
        """Return the record saved by `learn` for each of these origins."""
        found = await self._database.fetch(SQL["origins"], list(names))
        known = {row["origin"]: bytes(row["known"]) for row in found}
        return [known.get(name, b"") for name in names]

    async def learn(
        self, origins: Mapping[str, bytes], *, expected: Mapping[str, bytes] = NO_RECORDS
    ) -> dict[str, bytes]:
        """Save what was learned about origins; return the records that were not replaced."""
        if not origins:
            return {}
        texts = [*origins.values()]
        before = [expected.get(name) for name in origins]
        hit("learn.before")
        found = await self._database.execute(SQL["learn"], [*origins], texts, before)
        hit("learn.after")
        replaced = {row["origin"] for row in found}
        left = [name for name in origins if name not in replaced]
        return dict(zip(left, await self.origins(left), strict=True)) if left else {}
