"""Lets lanes sleep that have nothing more to read, if the store confirms that.

A lane may sleep only after a commit in which the store confirms that it has no delivery beyond the
position that the lane has read to. After that the store wakes the lane when there is more. A lane
that was woken, or was rewound, while the store was asked stays awake: the store's answer is about
an earlier position.
"""

from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.dispatch.work import Work
from tarry.service.store.contract import Queue


class Sleep:
    """Asks the store for lanes that want to sleep."""

    def __init__(self, store: Queue, context: Context, work: Work[Lane], shards: Shards) -> None:
        self._store, self._context, self._work, self._shards = store, context, work, shards

    async def sleep_once(self) -> None:
        """Let lanes sleep that have read all ready rows; the others go on reading."""
        asked = self._work.take_resting()
        lanes = {lane.number: lane for lane in asked if lane.backlog.buffer.all_ready_read()}
        rewinds = {number: lane.backlog.buffer.rewinds for number, lane in lanes.items()}
        # If this fails, all lanes are read again later, and ask again: see `read_all_again`.
        dozing, resting = await self._ask(lanes)
        now = self._context.now()
        for lane in asked:
            if lane.has_left:
                continue
            number, buffer = lane.number, lane.backlog.buffer
            if number not in lanes or buffer.rewinds != rewinds[number]:
                lane.pump()  # it has something to read again
            elif number in dozing or number in resting:
                self._put_to_sleep(lane, rests=number in resting, now=now)
            elif now >= lane.held.until:
                lane.held.delay()  # the store confirms nothing once the lease has ended
            else:  # the store has more than was read
                buffer.rewind()
                lane.pump()

    async def _ask(self, lanes: dict[int, Lane]) -> tuple[set[int], set[int]]:
        """Return the lanes that may doze, and those that may rest.

        A lane may rest if it has nothing at all to do. It may doze if it waits for a due time.
        """
        positions = {number: lane.backlog.buffer.read_to for number, lane in lanes.items()}
        idle = {
            number: position
            for number, position in positions.items()
            if lanes[number].backlog.buffer.drained()
        }
        live = {number: position for number, position in positions.items() if number not in idle}
        leases = self._shards.leases()
        dozing = set(await self._store.rest(live, leases, doze=True)) if live else set()
        resting = set(await self._store.rest(idle, leases)) if idle else set()
        return dozing, resting

    def _put_to_sleep(self, lane: Lane, *, rests: bool, now: float) -> None:
        """Mark a lane as asleep; forget it if it has nothing left to do."""
        lane.backlog.fall_asleep()
        if rests:
            lane.backlog.all_ended()
            if lane.may_leave(now):
                self._shards.forget(lane)
