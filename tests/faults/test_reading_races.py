"""The store is read while deliveries end: what was read of them is old and is not sent again."""

import pytest

from tarry.core.pace import Phase
from tarry.service.dispatch.buffer.buffer import EARLY, Buffer
from tarry.service.dispatch.buffer.rows import PayloadBytes
from tarry.service.model.lane import Due, Fetched, Stream, Want
from tarry.testing.samples import a_due

NOW = 1_000.0


@pytest.fixture(params=[False, True], ids=["any order", "in order"])
def buffer(request: pytest.FixtureRequest) -> Buffer:
    return Buffer(1, PayloadBytes(), fifo=request.param)


def take(buffer: Buffer, stream: Stream, rows: list[Due], *, ask: bool = True) -> None:
    if ask:
        buffer.remember_busy()
    want = Want(lane=1, stream=stream, limit=EARLY)
    buffer.take(want, rows, cut=False, fetched=Fetched(rows, {}, {}, {}))


def out(buffer: Buffer) -> list[Due]:
    """All that is handed out, one after the other."""
    given = []
    while (row := buffer.next(NOW, Phase.CLOSED)) is not None:
        given.append(row)
        buffer.done(row)
    return given


def test_what_was_settled_while_the_store_was_read_is_not_sent_again(buffer: Buffer) -> None:
    row = a_due()
    take(buffer, Stream.READY, [row])
    assert buffer.next(NOW, Phase.CLOSED) == row
    buffer.rewind()
    buffer.remember_busy()
    buffer.done(row)  # after the store had looked, before it answered
    take(buffer, Stream.READY, [row], ask=False)
    assert out(buffer) == []


def test_what_was_sent_again_meanwhile_is_not_sent_a_third_time(buffer: Buffer) -> None:
    row = a_due(resend="resend_1", stream=Stream.RESEND)
    take(buffer, Stream.RESEND, [row])
    assert buffer.next(NOW, Phase.CLOSED) == row
    buffer.rewind()
    buffer.remember_busy()
    buffer.done(row)
    take(buffer, Stream.RESEND, [row], ask=False)
    assert out(buffer) == []


def test_resends_that_are_read_twice_go_once(buffer: Buffer) -> None:
    rows = [a_due(resend=f"resend_{n:02}", stream=Stream.RESEND) for n in range(EARLY)]
    take(buffer, Stream.RESEND, rows)
    take(buffer, Stream.RESEND, rows)
    assert out(buffer) == rows


def test_the_first_of_an_ordered_lane_goes_once_if_it_is_due_and_read_as_early_too() -> None:
    buffer = Buffer(1, PayloadBytes(), fifo=True)
    row = a_due(due_at=NOW - 1, stream=Stream.WAITING)
    buffer.remember_busy()
    take(buffer, Stream.WAITING, [row], ask=False)
    take(buffer, Stream.EARLY, [row], ask=False)
    assert out(buffer) == [row]
