"""The deliveries that wait in a lane: how many there are, and whether more of them are to be read.

The lane's memory is a cache of the store with a read position (`Buffer.read_to`). Whether there is
something to read, and what happens next, depends on one state:

| state      | meaning                                   | what ends it                           |
|------------|-------------------------------------------|----------------------------------------|
| `asking`   | rows are being read, or will be next      | the reader, with rows or with none     |
| awake      | the store believes that the lane reads on | rows run low: the lane asks            |
| `asleep`   | all was read up to a position, and the    | the store: a delivery beyond that      |
|            | store has agreed to that in a commit      | position wakes the lane                |

`marks_fresh` says that the next read starts with a mark: deliveries added after it are fresh, and
do not wait behind the whole backlog of an endpoint that was down.
"""

from tarry.service.dispatch.buffer.buffer import Buffer
from tarry.service.dispatch.buffer.rows import PayloadBytes
from tarry.service.model.lane import LaneRow


class Backlog:
    """The deliveries of one lane, in memory and in the store."""

    __slots__ = ("_added", "_ended", "asking", "asleep", "buffer", "marks_fresh")

    def __init__(self, row: LaneRow, buffered: PayloadBytes) -> None:
        self._added, self._ended = row.added, row.ended
        self.buffer = Buffer(row.lane, buffered, fifo=row.endpoint.fifo)
        self.asking = self.asleep = self.marks_fresh = False

    def waiting(self, in_flight: int) -> int:
        """Return how many deliveries wait, without those in flight."""
        return max(0, self._added - self._ended - in_flight)

    def pressing(self, in_flight: int) -> int:
        """Return how many deliveries wait, or 0 if all of them wait for their due times.

        Deliveries that wait for a due time need no pace.
        """
        unread = self.asking or self.marks_fresh
        ordered = self.buffer.fifo  # all deliveries wait for the due time of the first
        return 0 if self.buffer.idle() and not unread and not ordered else self.waiting(in_flight)

    # --- How many there are ---------------------------------------------------------------------

    def reload(self, row: LaneRow) -> None:
        """Take over the store's counts, and read all rows again: they may have changed."""
        self._added, self._ended = row.added, row.ended
        self.start_over()

    def count_ended(self, number: int = 1) -> None:
        """Count deliveries that ended."""
        self._ended += number

    # --- Reading --------------------------------------------------------------------------------

    def ask(self) -> None:
        """Remember that rows are to be read."""
        self.asking = True

    def fetched(self, added: int) -> None:
        """Mark that rows were read, and take over how many deliveries were ever added."""
        self.asking = False
        self._added = max(self._added, added)

    def mark_fresh(self) -> None:
        """Have the next read start with a mark: deliveries added after it are fresh."""
        self.marks_fresh = True

    def set_mark(self, added: int | None) -> None:
        """Treat deliveries after the first `added` ones as fresh; None: after all known ones."""
        self.marks_fresh = False
        self.buffer.set_fresh_after(self._added if added is None else added)

    def start_over(self) -> None:
        """Forget the rows in memory, and read everything again."""
        self.asleep = False
        self.buffer.forget_rows()

    def fall_asleep(self) -> None:
        """Mark the lane as asleep: the store agreed, and wakes it when there is more to read."""
        self.asleep = True

    def all_ended(self) -> None:
        """Count all deliveries as ended: the store has none left that waits."""
        self._ended = self._added
