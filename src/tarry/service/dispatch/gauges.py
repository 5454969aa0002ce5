"""The current numbers of a dispatcher, for its metrics."""

from collections import Counter

from msgspec import Struct

from tarry.core.pace import Phase
from tarry.service.dispatch.dispatcher import Dispatcher


class Gauges(Struct, frozen=True, kw_only=True):
    """Counts since the dispatcher started, and its current state.

    `lanes` counts the lanes in memory by phase; `waiting` counts the deliveries that wait in them.
    """

    sent: int
    delivered: int
    failed: int
    stale: int
    probes: int
    stalled: int
    unwritable: int
    in_flight: int
    unsettled: int
    shards: int
    waiting: int
    lanes: dict[Phase, int]


def gauges(dispatcher: Dispatcher) -> Gauges:
    """Return the gauges; this walks over all lanes in memory."""
    counters = dispatcher.context.counters
    lanes = list(dispatcher.shards.lanes())
    phases = Counter(lane.gates.phase for lane in lanes)
    return Gauges(
        sent=counters.sent,
        delivered=counters.delivered,
        failed=counters.failed,
        stale=counters.stale,
        probes=counters.probes,
        stalled=counters.stalled,
        unwritable=counters.unwritable,
        in_flight=sum(lane.in_flight for lane in lanes),
        unsettled=dispatcher.work.unsettled,
        shards=len(dispatcher.shards.owned),
        waiting=sum(lane.waiting() for lane in lanes),
        lanes={phase: phases[phase] for phase in Phase},
    )
