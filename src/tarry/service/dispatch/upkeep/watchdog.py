"""Finds lanes with ready deliveries that would never be sent, and wakes them.

The rules of sleeping are meant to make this impossible. So each such lane is a defect: it is logged
as an error and counted in `tarry_lanes_stalled_total`, and its deliveries are sent.

A lane can be forgotten in two ways. It is in memory and does nothing, although the store has a
ready delivery of it. Or it is not in memory, although the store believes that it is.

While lanes are being loaded, none is forgotten: it may be among them. That can take long, for
instance if the answer of the database to a single query is held up.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence

from tarry.core.pace import Phase
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.lane.sending import next_send_at
from tarry.service.dispatch.ownership.lane_loader import LaneLoader
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.model.lane import Stream, Want
from tarry.service.store.contract import Queue

log = logging.getLogger("tarry.service")

SECOND_LOOK = 2.0
"""Seconds until a lane is checked again: it may be about to be woken."""
LOOKED_AT_TOGETHER = 64
"""How many lanes one query to the store is about."""


class Watchdog:
    """Checks the lanes of one dispatcher that seem to have nothing to do."""

    def __init__(self, store: Queue, context: Context, shards: Shards, loader: LaneLoader) -> None:
        self._store, self._context, self._shards, self._loader = store, context, shards, loader

    async def look_once(self) -> None:
        """Compare the lanes in memory with the store, and wake those that were forgotten."""
        await self._look_for_missing()
        await self._look_at_idle()

    # --- Lanes that are not in memory -----------------------------------------------------------

    async def _look_for_missing(self) -> None:
        """Load lanes that have been missing since the last look, with the same ready row.

        A lane that was loaded in between is not lost: its row may be ready once more, for instance
        since a failover.
        """
        ready = await self._first_ready(await self._missing_lanes())
        before = self._shards.missing
        lost = {lane for lane, seq in ready.items() if before.get(lane) == seq}
        self._shards.set_missing({lane: seq for lane, seq in ready.items() if lane not in lost})
        for lane in sorted(lost):
            log.error("defect: lane %d had ready deliveries and was not loaded; it is now", lane)
            self._context.counters.count_stalled()
        if lost:
            await self._loader.load(sorted(lost))

    async def _missing_lanes(self) -> list[int]:
        """Return the lanes that the store has awake and that are not in memory."""
        owned = self._shards.owned
        shards = [number for number in self._shards.numbers if owned[number].is_complete]
        awake = await self._store.awake(shards)
        if self._loader.is_busy:
            return []
        return sorted(set(awake) - {lane.number for lane in self._shards.lanes()})

    # --- Lanes in memory ------------------------------------------------------------------------

    async def _look_at_idle(self) -> None:
        """Compare idle lanes with the store twice, and wake those with the same ready row in both.

        Another row may be ready by a failover that this worker has yet to notice.
        """
        first = await self._with_ready_rows(list(self._idle_lanes()))
        if not first:
            return
        seen = {lane: lane.backlog.buffer.rewinds for lane in first}
        await asyncio.sleep(SECOND_LOOK)
        second = await self._with_ready_rows(self._unmoved(seen))
        if self._loader.is_busy:
            return
        for lane in self._unmoved(seen):
            if second.get(lane) == first[lane]:
                self._wake(lane)

    def _unmoved(self, seen: Mapping[Lane, int]) -> list[Lane]:
        """Return those lanes that are idle and were not rewound since they were `seen`."""
        idle = set(self._idle_lanes())
        return [
            lane
            for lane, rewinds in seen.items()
            if lane in idle and lane.backlog.buffer.rewinds == rewinds
        ]

    def _idle_lanes(self) -> Iterator[Lane]:
        """Yield the lanes that could send and do nothing."""
        now = self._context.now()
        yield from (lane for lane in self._shards.lanes() if is_idle(lane, now))

    async def _with_ready_rows(self, lanes: Sequence[Lane]) -> dict[Lane, int]:
        """Return those lanes that have a ready delivery in the store, and the first one of each."""
        ready = await self._first_ready([lane.number for lane in lanes])
        return {lane: ready[lane.number] for lane in lanes if lane.number in ready}

    def _wake(self, lane: Lane) -> None:
        """Log a stalled lane, count it, and let it start over."""
        log.error(
            "defect: lane %d of endpoint %s had ready deliveries that no worker would have sent"
            " (asleep: %s, read to %d); it was woken",
            lane.number,
            lane.endpoint.id,
            lane.backlog.asleep,
            lane.backlog.buffer.read_to,
        )
        self._context.counters.count_stalled()
        lane.start_over()

    # --- The store ------------------------------------------------------------------------------

    async def _first_ready(self, lanes: Sequence[int]) -> dict[int, int]:
        """Return the sequence number of the first ready delivery of each lane that has one."""
        ready: dict[int, int] = {}
        for start in range(0, len(lanes), LOOKED_AT_TOGETHER):
            some = lanes[start : start + LOOKED_AT_TOGETHER]
            wants = [Want(lane=number, stream=Stream.READY, limit=1) for number in some]
            fetched = await self._store.fetch(wants, now=self._context.now(), most_bytes=0)
            ready |= {row.lane: row.seq for row in fetched.due}
        return ready


def is_idle(lane: Lane, now: float) -> bool:
    """Return whether a lane could send but does nothing: it has no row, request or open query.

    A lane whose lease has ended does nothing until the lease is renewed, and then asks again.
    """
    if not lane.is_at_work or lane.held.until <= now:
        return False
    if lane.backlog.asking or not lane.is_quiet:
        return False
    gate = lane.gates.current
    if gate.phase is not Phase.CLOSED or next_send_at(lane, gate, now) > now:
        return False
    return not lane.backlog.buffer.at_hand(now) and not lane.backlog.buffer.busy
