"""The store is read while deliveries end: what was read of them is old and is not sent again."""

import pytest

from tarry.core.pace import Phase
from tarry.service.dispatch.intake import EARLY, Buffered
from tarry.service.dispatch.streams import Streams
from tarry.service.model.lane import Due, Fetched, Stream, Want
from tarry.testing.samples import a_due

NOW = 1_000.0


@pytest.fixture(params=[False, True], ids=["any order", "in order"])
def streams(request: pytest.FixtureRequest) -> Streams:
    return Streams(1, Buffered(), fifo=request.param)


def take(streams: Streams, stream: Stream, rows: list[Due], *, ask: bool = True) -> None:
    if ask:
        streams.ask()
    want = Want(lane=1, stream=stream, limit=EARLY)
    streams.take(want, rows, now=NOW, cut=False, fetched=Fetched(rows, {}, {}, {}))


def out(streams: Streams) -> list[Due]:
    """All that is handed out, one after the other."""
    given = []
    while (row := streams.next(NOW, Phase.CLOSED)) is not None:
        given.append(row)
        streams.done(row)
    return given


def test_what_was_settled_while_the_store_was_read_is_not_sent_again(streams: Streams) -> None:
    row = a_due()
    take(streams, Stream.READY, [row])
    assert streams.next(NOW, Phase.CLOSED) == row
    streams.rewind()
    streams.ask()
    streams.done(row)  # after the store had looked, before it answered
    take(streams, Stream.READY, [row], ask=False)
    assert out(streams) == []


def test_what_was_sent_again_meanwhile_is_not_sent_a_third_time(streams: Streams) -> None:
    row = a_due(resend="resend_1", stream=Stream.RESEND)
    take(streams, Stream.RESEND, [row])
    assert streams.next(NOW, Phase.CLOSED) == row
    streams.rewind()
    streams.ask()
    streams.done(row)
    take(streams, Stream.RESEND, [row], ask=False)
    assert out(streams) == []


def test_resends_that_are_read_twice_go_once(streams: Streams) -> None:
    rows = [a_due(resend=f"resend_{n:02}", stream=Stream.RESEND) for n in range(EARLY)]
    take(streams, Stream.RESEND, rows)
    take(streams, Stream.RESEND, rows)
    assert out(streams) == rows


def test_the_first_of_an_ordered_lane_goes_once_if_it_is_due_and_read_as_early_too() -> None:
    streams = Streams(1, Buffered(), fifo=True)
    row = a_due(due_at=NOW - 1, stream=Stream.WAITING)
    streams.ask()
    take(streams, Stream.WAITING, [row], ask=False)
    take(streams, Stream.EARLY, [row], ask=False)
    assert out(streams) == [row]
