"""How far one stream of a lane was read: the rows at hand, and where reading goes on.

A value: of the many lanes that have nothing to read, all have the same one.
"""

from collections.abc import Sequence

from msgspec import Struct

from tarry.service.model.lane import Due, Stream, Want

Rows = tuple[Due, ...]


class Reading(Struct, frozen=True, gc=False):  # it holds rows alone, so there can be no cycle
    """Rows in the order of their stream, and the place of the last one that was read.

    A stream goes by sequence numbers, or by due times first.
    """

    rows: Rows = ()
    due_at: float = 0.0
    seq: int = 0
    all_read: bool = False

    def wants(self, room: int) -> bool:
        """Whether there is room for more rows, and may be more."""
        return not self.all_read and room > len(self.rows)

    def want(self, lane: int, stream: Stream, limit: int, before: int | None = None) -> Want:
        """What to ask the store for, to go on."""
        return Want(
            lane=lane,
            stream=stream,
            limit=limit,
            after=self.seq,
            before=before,
            due_after=self.due_at,
        )

    def on(self, found: Sequence[Due], kept: Rows, *, all_read: bool) -> "Reading":
        """Read on: what was found next, and what of it is kept to be sent."""
        if found:
            last = found[-1]
            return Reading(self.rows + kept, last.due_at or 0.0, last.seq, all_read)
        if all_read and self is UNREAD:
            return EMPTY
        return Reading(self.rows, self.due_at, self.seq, all_read)

    def again(self) -> "Reading":
        """There may be more by now."""
        return Reading(self.rows, self.due_at, self.seq) if self.all_read else self

    def first(self) -> tuple[Due, "Reading"]:
        """The first row, and what is left without it."""
        rows = self.rows
        return rows[0], Reading(rows[1:], self.due_at, self.seq, self.all_read)

    def behind(self, older: "Reading") -> "Reading":
        """With the rows of another one before its own."""
        return Reading(older.rows + self.rows, self.due_at, self.seq, self.all_read)

    def back(self, row: Due) -> "Reading":
        """With a row that is the first again."""
        return Reading((row, *self.rows), self.due_at, self.seq, self.all_read)

    def without(self, seq: int) -> "Reading":
        """Without the row of a sequence number."""
        rows = tuple(row for row in self.rows if row.seq != seq)
        return Reading(rows, self.due_at, self.seq, self.all_read)


UNREAD = Reading()
EMPTY = Reading(all_read=True)
