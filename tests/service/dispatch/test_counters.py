"""Counters only grow, each by what happened."""

from tarry.service.dispatch.counters import Counters


def test_each_event_is_counted_once_where_it_belongs() -> None:
    counters = Counters()
    counters.count_sent(probe=False)
    counters.count_sent(probe=True)
    counters.count_delivered()
    counters.count_failed()
    counters.count_failed(3)
    counters.count_stale()
    counters.count_stalled()
    counters.count_unwritable()
    assert (counters.sent, counters.probes) == (2, 1)
    assert (counters.delivered, counters.failed) == (1, 4)
    assert (counters.stale, counters.stalled, counters.unwritable) == (1, 1, 1)
