"""What waits in a lane: how many deliveries, and whether there is more to read than is in memory.

The lane's memory is a cache of the store with a read position (`Buffer.read_to`). There is one
answer to "is there something to read, and who will be told?":

| state      | meaning                                   | what ends it                           |
|------------|-------------------------------------------|----------------------------------------|
| `asking`   | rows are being read, or will be next      | the reader, with rows or with none     |
| awake      | the store believes that the lane reads on | rows run low: the lane asks            |
| `asleep`   | all was read up to a position, and the    | the store: a delivery beyond that      |
|            | store has agreed to that in a commit      | position wakes the lane                |

`marks_fresh` says that the next read starts with a mark: what is added from then on is fresh, and
does not wait behind the whole backlog of an endpoint that was down.
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
        """Return how many deliveries wait, those in flight left out."""
        return max(0, self._added - self._ended - in_flight)

    def pressing(self, in_flight: int) -> int:
        """Return the same, or 0 if all of them wait for times of their own: those need no pace."""
        unread = self.asking or self.marks_fresh
        ordered = self.buffer.fifo  # all of them wait for the first one's time
        return 0 if self.buffer.idle() and not unread and not ordered else self.waiting(in_flight)

    # --- How many there are ---------------------------------------------------------------------

    def reload(self, row: LaneRow) -> None:
        """Take over the store's counts, and read everything again: it may have changed."""
        self._added, self._ended = row.added, row.ended
        self.start_over()

    def end(self, number: int = 1) -> None:
        """Count deliveries that ended."""
        self._ended += number

    # --- Reading --------------------------------------------------------------------------------

    def ask(self) -> None:
        """Remember that rows are to be read."""
        self.asking = True

    def answered(self, added: int) -> None:
        """Take in that the store was asked, and how many deliveries it has ever added."""
        self.asking = False
        self._added = max(self._added, added)

    def mark_fresh(self) -> None:
        """Have the next read begin with a mark for what is fresh from then on."""
        self.marks_fresh = True

    def marked(self, added: int | None) -> None:
        """Set the mark: what is added after so many is fresh."""
        self.marks_fresh = False
        self.buffer.came_back(self._added if added is None else added)

    def start_over(self) -> None:
        """Forget what was read, and read everything again."""
        self.asleep = False
        self.buffer.changed()

    def fall_asleep(self) -> None:
        """Take in that the store agreed: it wakes the lane when there is more to read."""
        self.asleep = True

    def all_ended(self) -> None:
        """Take in that the store has nothing left that waits."""
        self._ended = self._added
