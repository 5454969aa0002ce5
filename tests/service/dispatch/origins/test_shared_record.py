"""A whole's record: who may probe, what is written, and which share of the pace a worker has."""

from collections.abc import Callable

import pytest

from tarry.core.pace import Pace, Phase
from tarry.service.dispatch.clock import Timer
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.limits.gate import Gate, read_pace, write_pace
from tarry.service.dispatch.origins.shared_record import (
    AHEAD,
    LOT,
    Fleet,
    SharedRecord,
    read_workers,
    write_record,
)
from tarry.service.dispatch.work import Signals, Work
from tarry.service.model.settings import Limits, Parking
from tarry.testing.samples import NOON
from tests.service.dispatch.test_context import Nobody

OPEN = Pace(
    phase=Phase.OPEN,
    rate=0.0,
    epoch=1,
    down_since=NOON - 3000,
    probes=7,
    probe_at=NOON,
    capacity=80.0,
)
PACED = Pace(phase=Phase.PACED, rate=40.0, goal=80.0, capacity=80.0, epoch=2)


class Timers:
    """Timers that a test fires."""

    def __init__(self) -> None:
        self.set: list[tuple[float, Callable[[], None]]] = []

    def later(self, seconds: float, then: Callable[[], None]) -> Timer:
        self.set.append((seconds, then))
        return self

    def cancel(self) -> None:
        raise NotImplementedError


SIGNALS = Signals()
"""Those of the records under test."""


def a_record(worker: str = "me", **others: int) -> tuple[SharedRecord, Context, Timers]:
    """A record of an open origin at which so many deliveries wait at other workers."""
    timers = Timers()
    context = Context(
        now=lambda: NOON,
        wall=lambda now: now,
        later=timers.later,
        draw=lambda: 0.5,
        sender=Nobody(),
        limits=Limits(),
        parking=Parking(),
    )
    SIGNALS.share.clear()
    record = SharedRecord(Fleet(worker), context, Work(SIGNALS))
    record.read(write_record(OPEN, others))
    return record, context, timers


def a_gate(pace: Pace = OPEN) -> Gate:
    return Gate(pace, lambda: 0.5)


def never() -> None:
    raise NotImplementedError


def test_a_worker_alone_reserves_a_probe_at_once_and_may_probe_once_that_is_written() -> None:
    record, _, timers = a_record()
    gate = a_gate()
    assert not record.may_probe(gate.pace, first=False, serve=never)
    assert SIGNALS.share.is_set()
    assert record.written(record.next_text(gate, waiting=5))
    assert not record.wants_probe
    assert record.may_probe(gate.pace, first=False, serve=never)
    assert not timers.set


def test_a_record_that_was_never_written_is_one_of_an_origin_that_is_well() -> None:
    _, context, _ = a_record()
    record = SharedRecord(Fleet("me"), context, Work(SIGNALS))
    assert (record.text, record.pace, record.workers) == (b"", Pace(), {})


def test_a_record_is_known_as_it_was_read() -> None:
    record, _, _ = a_record()
    text = write_record(PACED, {"other": 7})
    record.read(text)
    assert (record.text, record.pace.phase, record.workers) == (text, Phase.PACED, {"other": 7})


def test_deliveries_at_one_other_worker_all_count() -> None:
    record, _, _ = a_record(me=5, other=30)
    assert record.waiting_elsewhere == 30


def test_a_probe_that_is_wanted_while_a_record_is_written_is_reserved_with_the_next_one() -> None:
    record, _, _ = a_record()
    text = record.next_text(a_gate(), waiting=3)
    assert not record.may_probe(OPEN, first=False, serve=never)
    assert not record.written(text)
    assert record.wants_probe
    assert record.written(record.next_text(a_gate(), waiting=3))
    assert record.may_probe(OPEN, first=False, serve=never)


def test_a_reservation_is_for_one_probe() -> None:
    record, _, _ = a_record()
    gate = a_gate()
    record.may_probe(gate.pace, first=False, serve=never)
    record.written(record.next_text(gate, waiting=5))
    gate.sent(NOON, 5)
    assert not record.may_probe(gate.pace, first=False, serve=never)


def test_a_reservation_says_when_the_next_probe_goes() -> None:
    record, _, _ = a_record()
    gate = a_gate()
    record.may_probe(gate.pace, first=False, serve=never)
    written = read_pace(record.next_text(gate, waiting=5), now=NOON)
    assert written.probes == OPEN.probes + 1
    assert 30 <= written.probe_at - NOON <= 33
    assert gate.pace == OPEN  # until it is sent


def test_probes_are_as_frequent_as_if_all_deliveries_waited_at_one_worker() -> None:
    record, _, _ = a_record(other=9_000)
    gate = a_gate(OPEN.replace(capacity=None))
    record.may_probe(gate.pace, first=True, serve=never)
    written = read_pace(record.next_text(gate, waiting=1_000), now=NOON)
    assert written.probe_at == NOON + AHEAD  # every 2 s, were it not for an answer to wait for
    alone, _, _ = a_record()
    alone.may_probe(gate.pace, first=True, serve=never)
    written = read_pace(alone.next_text(gate, waiting=1_000), now=NOON)
    assert 20 <= written.probe_at - NOON <= 22


def test_while_a_probe_has_no_answer_the_next_one_is_some_seconds_away() -> None:
    record, _, _ = a_record()
    gate = a_gate(OPEN.replace(down_since=NOON - 1))
    gate.sent(NOON, 1)
    assert gate.pace.probe_at < NOON + AHEAD
    written = read_pace(record.next_text(gate, waiting=1), now=NOON)
    assert written.probe_at == NOON + AHEAD
    gate.lost()
    written = read_pace(record.next_text(gate, waiting=1), now=NOON)
    assert written.probe_at == pytest.approx(gate.pace.probe_at, abs=0.001)


def test_workers_draw_lots_for_a_probe() -> None:
    record, _, timers = a_record(other=5)
    gate, served = a_gate(), list[int]()
    for _ in range(3):
        assert not record.may_probe(gate.pace, first=False, serve=lambda: served.append(1))
    assert not record.wants_probe
    ((wait, then),) = timers.set
    assert wait == 0.5 * LOT
    then()
    assert served == [1]
    assert not record.may_probe(gate.pace, first=False, serve=never)
    assert record.wants_probe


def test_who_probed_last_lets_others_go_first() -> None:
    record, _, timers = a_record(other=5)
    gate = a_gate()
    record.may_probe(gate.pace, first=True, serve=never)
    record.written(record.next_text(gate, waiting=5))
    gate.sent(NOON, 5)
    record.may_probe(gate.pace, first=False, serve=never)
    assert [wait for wait, _ in timers.set] == [LOT]


def test_a_lane_that_goes_first_does_not_wait_for_its_lot() -> None:
    record, _, timers = a_record(other=5)
    record.may_probe(OPEN, first=True, serve=never)
    assert record.wants_probe
    assert not timers.set


def test_a_probe_that_was_brought_forward_is_reserved_again_if_nobody_has_probed() -> None:
    record, _, _ = a_record(other=5)
    before = OPEN.replace(probe_at=NOON + 20)
    early = a_gate(OPEN)
    record.may_probe(early.pace, first=True, serve=never)
    assert record.may_still_reserve(early, before)
    assert not record.may_still_reserve(a_gate(before), before)
    record.read(write_pace(OPEN.replace(probes=8)))
    assert not record.may_still_reserve(early, before)


def test_two_workers_never_write_the_same_text() -> None:
    texts = set()
    for worker in ("a", "b"):
        record, _, _ = a_record(worker, a=5, b=5)
        record.may_probe(OPEN, first=True, serve=never)
        texts.add(record.next_text(a_gate(), waiting=5))
    assert len(texts) == 2


def test_a_worker_without_lanes_there_is_not_named() -> None:
    record, _, _ = a_record(me=5, other=7)
    assert read_workers(record.next_text(a_gate(), waiting=None)) == {"other": 7}
    assert read_workers(record.next_text(a_gate(), waiting=0)) == {"me": 0, "other": 7}


@pytest.mark.parametrize("pace", [OPEN, PACED])
def test_a_worker_without_lanes_there_only_takes_its_name_out_of_a_record(pace: Pace) -> None:
    record, _, _ = a_record()
    record.read(write_record(pace, {"me": 5, "other": 7}))
    gate = a_gate(OPEN.replace(down_since=NOON - 1))
    assert record.next_text(gate, waiting=None) == write_record(pace, {"other": 7})


def test_a_record_that_names_its_last_worker_no_more_names_none() -> None:
    record, _, _ = a_record(me=5)
    assert record.next_text(a_gate(), waiting=None) == write_pace(OPEN)


def test_a_record_of_an_origin_that_is_well_names_nobody() -> None:
    record, _, _ = a_record(me=5, other=7)
    assert record.next_text(a_gate(Pace()), waiting=5) == b'{"phase":"closed"}'


@pytest.mark.parametrize(
    ("known", "waiting", "outdated"),
    [
        (None, None, False),
        (None, 0, True),
        (5, None, True),
        (5, 0, False),
        (5, 110, False),
        (5, 111, True),
        (1_000, 2_000, False),
        (1_000, 2_101, True),
    ],
)
def test_a_record_is_outdated_if_it_says_too_little_of_a_worker(
    known: int | None, waiting: int | None, *, outdated: bool
) -> None:
    record, context, _ = a_record()
    workers = {} if known is None else {"me": known}
    record = SharedRecord(Fleet("me"), context, Work(SIGNALS))
    record.read(write_record(OPEN, workers))
    assert record.is_outdated(waiting) is outdated


@pytest.mark.parametrize("waiting", [0, 5])
def test_a_worker_alone_has_all_of_the_pace(waiting: int) -> None:
    record, _, _ = a_record(me=5)
    gate = a_gate(PACED)
    record.scale_gate_to_share(gate, waiting)
    assert gate.pace == PACED


def test_two_workers_with_the_same_backlog_have_half_of_the_pace_each() -> None:
    record, _, _ = a_record(other=30)
    gate = a_gate(PACED)
    record.scale_gate_to_share(gate, 30)
    assert gate.pace.rate == pytest.approx(20)


@pytest.mark.parametrize(("mine", "share"), [(30, 0.25), (0, 0.125), (270, 0.5)])
def test_half_of_the_pace_is_divided_by_what_waits(mine: int, share: float) -> None:
    record, _, _ = a_record(a=30, b=30, c=30)
    gate = a_gate(PACED)
    record.scale_gate_to_share(gate, mine)
    assert gate.pace.rate == pytest.approx(share * 40)
    assert gate.pace.goal == pytest.approx(share * 80)
    written = read_pace(record.next_text(gate, waiting=mine), now=NOON)
    assert written.rate == pytest.approx(40)
    assert written.capacity == pytest.approx(80)


def test_an_origin_that_is_well_again_has_the_capacity_of_all_workers() -> None:
    record, _, _ = a_record(other=30)
    gate = a_gate(PACED)
    record.scale_gate_to_share(gate, 30)
    gate.close()
    record.scale_gate_to_share(gate, 30)
    assert gate.pace.capacity == pytest.approx(80)


def test_workers_that_are_dead_count_neither_as_sharers_nor_with_what_waited_there() -> None:
    _, context, _ = a_record()
    fleet = Fleet("me")
    record = SharedRecord(fleet, context, Work(SIGNALS))
    assert not record.has_others
    record.read(write_record(OPEN, {"a": 30, "b": 50, "c": 40, "d": 40}))
    assert (record.sharers, record.waiting_elsewhere) == (5, 160)
    fleet.count(3)
    assert (record.sharers, record.waiting_elsewhere) == (3, 80)
    fleet.alive = 1
    assert (record.sharers, record.waiting_elsewhere) == (1, 0)
    assert record.has_others  # so it is asked again how many are alive


def test_a_probe_that_was_wanted_is_forgotten_when_the_gate_turns() -> None:
    record, _, _ = a_record()
    record.may_probe(OPEN, first=False, serve=never)
    record.scale_gate_to_share(a_gate(PACED), 5)
    assert not record.wants_probe


def test_a_probe_that_was_wanted_is_not_reserved_once_another_worker_has_probed() -> None:
    record, _, _ = a_record()
    record.may_probe(OPEN, first=False, serve=never)
    record.drop_wish()
    assert not record.wants_probe
    assert not record.written(record.next_text(a_gate(), waiting=5))


def test_the_first_worker_that_a_record_names_has_written_it() -> None:
    record, _, _ = a_record(other=5, me=5)
    assert record.is_of_another_outage
    record.written(record.next_text(a_gate(), waiting=5))
    assert not record.is_of_another_outage


def test_a_record_names_the_workers_that_share_it_and_what_waits_there() -> None:
    text = write_record(OPEN, {"worker_2": 7, "worker_1": 0})
    assert [*read_workers(text).items()] == [("worker_2", 7), ("worker_1", 0)]
    assert read_pace(text, now=NOON) == read_pace(write_pace(OPEN), now=NOON)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nonsense",
        b"[]",
        write_record(OPEN, {}),
        b'{"workers":3}',
        b'{"workers":"worker_1"}',
    ],
)
def test_a_record_that_names_no_worker_is_shared_by_nobody(text: bytes) -> None:
    assert read_workers(text) == {}
