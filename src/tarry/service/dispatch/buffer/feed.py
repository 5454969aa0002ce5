"""Reads rows for lanes that run low, with one query to the store for many lanes."""

from collections import defaultdict
from collections.abc import Sequence

from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.lane.sending import room
from tarry.service.dispatch.work import Work
from tarry.service.failpoints import hit
from tarry.service.model.lane import Due, Fetched, Stream, Want
from tarry.service.store.contract import Queue

AT_ONCE = 64
"""How many lanes are fed together."""
MOST_BYTES = 2 * 1024 * 1024
LARGEST = 1024 * 1024
"""The size of the largest payload. If an answer had less room left than this, the store may have
more rows than it returned."""


async def feed_once(store: Queue, context: Context, work: Work[Lane]) -> None:
    """Read rows for the lanes that have waited longest, and let these lanes send."""
    lanes = work.take_hungry(AT_ONCE)
    try:
        await _mark_those_back(store, lanes)
        wants = _wants(context, lanes)
        for lane in lanes:
            lane.backlog.buffer.ask()
        turns = {lane: lane.backlog.buffer.turn for lane in lanes}
        left = max(0, context.limits.buffered_bytes - context.buffered.bytes)
        most = min(MOST_BYTES, left)
        now = context.now()
        fetched = await store.fetch(wants, now=now, most_bytes=most)
        hit("fetch.after")
    except BaseException:
        for lane in lanes:  # they were taken off the list, and would never be fed
            if not lane.left:
                work.feed(lane)
        raise
    for lane in lanes:
        lane.backlog.answered(fetched.added.get(lane.number, 0))
    # A lane whose endpoint changed since it was loaded gets no rows: it would send messages that
    # were accepted after the change by the old settings. It is loaded first, and then asks again.
    late = {lane.number for lane in lanes if lane.version < fetched.versions.get(lane.number, 0)}
    if late:
        work.load(late)
    current = [lane for lane in lanes if lane.number not in late]
    # A lane that was rewound meanwhile gets no rows, and asks again.
    steady = {
        lane.number: lane
        for lane in current
        if lane.backlog.buffer.turn == turns[lane] and not lane.left
    }
    _hand_out(steady, wants, fetched, cut=_size(fetched) + LARGEST >= most)
    for lane in current:
        lane.pump()


async def _mark_those_back(store: Queue, lanes: Sequence[Lane]) -> None:
    """Tell lanes that came back which of their deliveries are fresh."""
    back = [lane for lane in lanes if lane.backlog.marks_fresh]
    if back:
        added = {row.lane: row.added for row in await store.lanes([lane.number for lane in back])}
        for lane in back:
            lane.backlog.marked(added.get(lane.number))


def _wants(context: Context, lanes: Sequence[Lane]) -> list[Want]:
    now = context.now()
    full = context.is_full()
    wants: list[Want] = []
    for lane in lanes:
        buffer, gate = lane.backlog.buffer, lane.gates.current
        if not (full and buffer.at_hand(now)):
            wants += buffer.wants(1 if full else room(lane, gate), now, gate.phase)
    return wants


def _hand_out(
    lanes: dict[int, Lane], wants: Sequence[Want], fetched: Fetched, *, cut: bool
) -> None:
    rows: dict[tuple[int, Stream], list[Due]] = defaultdict(list)
    for row in fetched.due:
        rows[row.lane, row.stream].append(row)
    for want in wants:
        if want.lane not in lanes:
            continue
        found = rows[want.lane, want.stream]
        if want.stream is Stream.READY:  # a lane may have asked for its backlog and its fresh rows
            first = want.after + 1
            found = [row for row in found if first <= row.seq < (want.before or row.seq + 1)]
        lanes[want.lane].backlog.buffer.take(want, found, cut=cut, fetched=fetched)


def _size(fetched: Fetched) -> int:
    return sum(len(row.payload or b"") for row in fetched.due)
