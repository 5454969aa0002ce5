"""What workers do when they find that another one has written the record of an origin."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import pytest

from tarry.core.pace import Pace, Phase
from tarry.errors import StoreUnavailable
from tarry.service.dispatch.limits.gate import read_pace, write_pace
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.origins.record_exchange import (
    IDLE_RECORD_INTERVAL,
    RECORD_INTERVAL,
    RecordExchange,
)
from tarry.service.dispatch.origins.shared_record import (
    AHEAD,
    SharedRecord,
    read_workers,
    write_record,
)
from tarry.service.store.contract import Server
from tarry.service.wire.exchange import Answer
from tarry.testing.samples import NOON
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, VirtualService, virtual_service
from tests.service.dispatch.origins.place import AT, OPEN, PACED, WELL, FakeLane, Place

if TYPE_CHECKING:
    from tarry.service.store.contract import Store


async def a_whole(service: VirtualService, answer: Answer = DOWN, waiting: int = 50) -> Origin:
    """An origin that is down for a while, with so many deliveries to it."""
    service.sender.scripts["gw.example"] = lambda _request, _now: answer
    for path in ("/0", "/1"):
        await service.add_endpoint("gw.example", path=path)
    await service.add(waiting // 2)
    await asyncio.sleep(300)
    whole, _ = service.dispatcher.loader.origins
    assert whole.gate.phase is Phase.OPEN
    await another_writes(service, whole.gate.pace)  # so that it looks often
    await asyncio.sleep(IDLE_RECORD_INTERVAL + 1)
    return whole


async def goes_down(service: VirtualService, theirs: Pace) -> Origin:
    """A healthy origin, which goes down when another worker has written a record."""
    for path in ("/0", "/1"):
        await service.add_endpoint("gw.example", path=path)
    await service.add()
    await asyncio.sleep(1)
    await another_writes(service, theirs)
    service.sender.scripts["gw.example"] = lambda _request, _now: DOWN
    await service.add(10)
    await asyncio.sleep(5)
    whole, _ = service.dispatcher.loader.origins
    return whole


def record_of(whole: Origin) -> SharedRecord:
    assert whole.record is not None
    return whole.record


async def another_writes(service: VirtualService, pace: Pace) -> None:
    await service.store.learn({AT: write_record(pace, {"other": 5})})


def count_looks(service: VirtualService, monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Return a list that gets the names of the origins at each look from now on."""
    looks: list[Sequence[str]] = []
    read = service.store.origins

    async def origins(names: Sequence[str]) -> list[bytes]:
        looks.append(names)
        return await read(names)

    monkeypatch.setattr(service.store, "origins", origins)
    return looks


async def stored(service: VirtualService) -> Pace:
    (text,) = await service.store.origins([AT])
    return read_pace(text, now=service.now())


@virtually
async def test_an_open_gate_takes_over_the_time_of_the_next_probe() -> None:
    async with virtual_service() as service:
        whole = await a_whole(service)
        mine = whole.gate.pace
        theirs = mine.replace(probes=mine.probes + 1, probe_at=service.now() + 200)
        await another_writes(service, theirs)
        sent = len(service.sender.sent)
        await asyncio.sleep(RECORD_INTERVAL + 0.1)
        assert whole.gate.pace.probe_at == pytest.approx(theirs.probe_at, abs=0.001)
        assert whole.gate.pace.probes == theirs.probes
        await asyncio.sleep(190)
        assert len(service.sender.sent) == sent
        await asyncio.sleep(15)
        assert len(service.sender.sent) == sent + 1


@virtually
async def test_a_worker_adds_its_name_to_a_record_that_it_follows() -> None:
    async with virtual_service() as service:
        whole = await a_whole(service)
        await another_writes(service, whole.gate.pace.replace(probe_at=service.now() + 200))
        await asyncio.sleep(2 * RECORD_INTERVAL + 0.1)
        (text,) = await service.store.origins([AT])
        assert set(read_workers(text)) == {"other", service.dispatcher.shards.worker}


@pytest.mark.parametrize("phase", [Phase.PACED, Phase.CLOSED])
@virtually
async def test_an_open_gate_is_paced_when_the_record_is_not_open_any_more(phase: Phase) -> None:
    async with virtual_service() as service:
        whole = await a_whole(service, waiting=500)
        service.sender.scripts["gw.example"] = lambda _request, _now: OK
        await another_writes(service, Pace(phase=phase, capacity=100.0, latency=0.02))
        while whole.gate.phase is Phase.OPEN:  # noqa: ASYNC110  virtual time
            await asyncio.sleep(0.01)
        assert whole.gate.phase is Phase.PACED
        assert whole.gate.pace.rate <= 0.5 * 100
        assert whole.gate.pace.latency == pytest.approx(0.02)
        await asyncio.sleep(0.1)
        assert (await stored(service)).phase is Phase.PACED  # it has something to send still


@virtually
async def test_a_gate_that_is_paced_says_so_when_another_worker_has_nothing_left_to_send() -> None:
    async with virtual_service() as service:
        whole = await a_whole(service, waiting=2_000)
        service.sender.scripts["gw.example"] = lambda _request, _now: OK
        while whole.gate.phase is Phase.OPEN:  # noqa: ASYNC110  virtual time
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        await another_writes(service, Pace())
        await asyncio.sleep(RECORD_INTERVAL + 0.1)
        assert (whole.gate.phase, (await stored(service)).phase) == (Phase.PACED, Phase.PACED)


@virtually
async def test_a_gate_that_opens_follows_a_record_that_is_open_already() -> None:
    async with virtual_service() as service:
        theirs = Pace(
            phase=Phase.OPEN,
            rate=0.0,
            down_since=service.now() - 9_000,
            probes=99,
            probe_at=service.now() + 25,
        )
        whole = await goes_down(service, theirs)
        assert whole.gate.phase is Phase.OPEN
        assert whole.gate.pace.probe_at == pytest.approx(theirs.probe_at, abs=0.001)
        assert whole.gate.pace.probes == theirs.probes


@pytest.mark.parametrize("phase", [Phase.PACED, Phase.CLOSED])
@virtually
async def test_a_gate_that_opens_says_so_although_another_worker_wrote_otherwise(
    phase: Phase,
) -> None:
    async with virtual_service() as service:
        whole = await goes_down(service, Pace(phase=phase, rate=20.0))
        assert whole.gate.phase is Phase.OPEN
        assert (await stored(service)).phase is Phase.OPEN


@virtually
async def test_a_record_that_is_lost_is_written_again_and_is_no_news() -> None:
    async with virtual_service() as service:
        whole = await a_whole(service)
        del service.store._data.origins[AT]  # noqa: SLF001  as after a failover
        await asyncio.sleep(2 * RECORD_INTERVAL)
        assert whole.gate.phase is Phase.OPEN
        assert (await stored(service)).phase is Phase.OPEN


@virtually
async def test_a_gate_that_closes_leaves_the_record_of_one_that_is_open() -> None:
    async with virtual_service() as service:
        whole = await a_whole(service, waiting=1_000)
        service.sender.scripts["gw.example"] = lambda _request, _now: OK
        while whole.gate.phase is Phase.OPEN:  # noqa: ASYNC110  virtual time
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        await another_writes(service, Pace(phase=Phase.OPEN, rate=0.0))
        for lane in service.store._data.lanes.values():  # noqa: SLF001  both of them
            await service.until_delivered(lane.endpoint, within=60)
        await asyncio.sleep(1)
        assert not whole.shared
        assert (await stored(service)).phase is Phase.OPEN


@virtually
async def test_while_a_probe_hangs_the_record_keeps_others_from_probing() -> None:
    async with virtual_service() as service:
        whole = await a_whole(service)
        hangs = Answer(15.0, failure=DOWN.failure, unreachable=True)
        service.sender.scripts["gw.example"] = lambda _request, _now: hangs
        whole.gate.bring_probe_forward(service.now())
        whole.serve()
        await asyncio.sleep(0.01)
        assert whole.gate.in_flight == 1
        hanging = whole.gate.pace
        whole.gate.follow(hanging.replace(probe_at=service.now() + 1))
        whole.mark_changed()
        for _ in range(12):
            await asyncio.sleep(1)
            ahead = (await stored(service)).probe_at - service.now()
            assert AHEAD - 2 * RECORD_INTERVAL - 0.1 <= ahead <= AHEAD


@virtually
async def test_what_waits_at_this_worker_is_told_when_it_has_doubled() -> None:
    async with virtual_service() as service:
        whole = await a_whole(service)
        worker = service.dispatcher.shards.worker
        assert record_of(whole).workers[worker] == 50
        await service.add(500)
        await asyncio.sleep(60)
        assert record_of(whole).workers[worker] >= 500


@virtually
async def test_a_worker_with_nothing_to_send_to_a_dead_host_hardly_looks_at_its_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with virtual_service() as service:
        service.sender.scripts["gw.example"] = lambda _request, _now: DOWN
        for path in ("/0", "/1"):
            await service.add_endpoint("gw.example", path=path)
        messages = await service.add(10)
        await asyncio.sleep(300)
        whole, _ = service.dispatcher.loader.origins
        for message in messages:
            await service.store.cancel(service.application.id, message, now=service.now())
        await asyncio.sleep(IDLE_RECORD_INTERVAL + 1)
        await another_writes(service, whole.gate.pace.replace(probe_at=service.now() + 900))
        await asyncio.sleep(2 * IDLE_RECORD_INTERVAL)
        assert whole.gate.phase is Phase.OPEN
        looks = count_looks(service, monkeypatch)
        await asyncio.sleep(10 * IDLE_RECORD_INTERVAL)
        assert 9 <= len(looks) <= 11

        service.sender.scripts["gw.example"] = lambda _request, _now: OK
        await another_writes(service, Pace(phase=Phase.PACED, rate=20.0, capacity=20.0))
        sent = len(service.sender.sent)
        await service.add()
        await asyncio.sleep(2)
        assert len(service.sender.sent) > sent


# --- With a store that holds nothing but records: each of these takes about a millisecond -------


class Records:
    """As much of a store as the exchange knows."""

    def __init__(self) -> None:
        self.records: dict[str, bytes] = {}
        self.alive = 2
        self.reads = self.counts = 0
        self.is_broken = False
        self.meanwhile: Callable[[], None] = lambda: None
        """Happens while the records are read."""

    async def learn(
        self, texts: Mapping[str, bytes], *, expected: Mapping[str, bytes]
    ) -> dict[str, bytes]:
        if self.is_broken:
            raise StoreUnavailable("a test")
        known = {name: self.records.get(name, b"") for name in expected}
        kept = {name: text for name, text in known.items() if text and text != expected[name]}
        self.records |= {**texts, **kept}
        return kept

    async def origins(self, names: Sequence[str]) -> list[bytes]:
        self.reads += 1
        self.meanwhile()
        return [self.records.get(name, b"") for name in names]

    async def server(self) -> Server:
        self.counts += 1
        return Server(NOON, 0.0, self.alive)


class Workplace(Place):
    """A worker named `me` with the records that it shares with one named `other`."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Records()
        store = cast("Store", self.store)
        self.exchange = RecordExchange(store, self.context, self.work, "me")

    def whole_of(self, pace: Pace, text: bytes = b"", at: str = AT) -> tuple[Origin, FakeLane]:
        """Make a whole with one failing lane here, whose record was last read like this."""
        record = self.exchange.record()
        record.read(text)
        whole, group = self.level(pace=pace, record=record, at=at), self.level("a", at=at)
        whole.adopt(group)
        (lane,) = self.lanes(group, 1)
        lane.is_healthy = False
        self.store.records[at] = text
        self.exchange.watch(whole)
        return whole, lane

    def other_writes(self, pace: Pace) -> None:
        self.store.records[AT] = theirs(pace)

    async def look(self) -> None:
        """Read the records when that is due."""
        self.push(IDLE_RECORD_INTERVAL)
        await self.exchange.look()


def theirs(pace: Pace) -> bytes:
    return write_record(pace, {"other": 1})


def ours(pace: Pace) -> bytes:
    return write_record(pace, {"me": 1, "other": 1})


@virtually
async def test_only_records_that_changed_are_written() -> None:
    place = Workplace()
    whole, _ = place.whole_of(OPEN)
    (group,) = whole.groups.values()
    await place.exchange.write([whole, group])
    assert place.store.records == {AT: b""}
    group.mark_changed()
    await place.exchange.write([whole, group])
    assert place.store.records == {AT: b"", group.name: write_pace(group.gate.pace)}
    whole.mark_changed()
    await place.exchange.write([whole, group])
    assert read_pace(place.store.records[AT], now=NOON).phase is Phase.OPEN
    assert not whole.is_changed
    assert not group.is_changed


@virtually
async def test_a_probe_goes_as_soon_as_it_is_reserved() -> None:
    place = Workplace()
    whole, lane = place.whole_of(OPEN)
    lane.wait()
    place.push(31)
    assert (whole.wants_probe, place.sent) == (True, [])
    await place.exchange.write([whole])
    assert (whole.wants_probe, place.sent) == (False, [lane.number])
    written = read_pace(place.store.records[AT], now=place.now)
    assert written.probe_at >= place.now + AHEAD


@virtually
async def test_records_that_could_not_be_written_are_written_later() -> None:
    place = Workplace()
    whole, _ = place.whole_of(OPEN)
    whole.mark_changed()
    place.store.is_broken = True
    with pytest.raises(StoreUnavailable):
        await place.exchange.write([whole])
    assert whole.is_changed
    place.store.is_broken = False
    await place.exchange.write([whole])
    assert place.store.records[AT]


@virtually
async def test_an_origin_that_is_well_here_leaves_the_record_of_an_outage_alone() -> None:
    place = Workplace()
    whole, _ = place.whole_of(WELL, theirs(OPEN))
    whole.mark_changed()
    await place.exchange.write([whole])
    assert place.store.records[AT] == theirs(OPEN)
    assert not whole.is_changed


@pytest.mark.parametrize("pace", [WELL, PACED])
@virtually
async def test_a_record_that_another_worker_wrote_meanwhile_is_read_and_then_replaced(
    pace: Pace,
) -> None:
    place = Workplace()
    whole, _ = place.whole_of(pace)
    place.other_writes(pace)
    whole.mark_changed()
    await place.exchange.write([whole])
    assert record_of(whole).text == place.store.records[AT] == theirs(pace)
    assert whole.is_changed
    await place.exchange.write([whole])
    assert place.store.records[AT] != theirs(pace)
    assert not whole.is_changed


@virtually
async def test_an_origin_that_is_well_here_leaves_a_record_of_a_backlog_that_it_finds() -> None:
    place = Workplace()
    whole, _ = place.whole_of(WELL)
    place.other_writes(PACED)
    whole.mark_changed()
    await place.exchange.write([whole])
    assert not whole.is_changed
    assert place.store.records[AT] == theirs(PACED)


@virtually
async def test_a_write_that_finds_an_outage_takes_over_the_time_of_its_next_probe() -> None:
    place = Workplace()
    whole, _ = place.whole_of(OPEN)
    place.other_writes(OPEN.replace(probe_at=NOON + 200))
    whole.mark_changed()
    await place.exchange.write([whole])
    assert whole.gate.pace.probe_at == NOON + 200
    assert not whole.is_changed


# --- When records are read


@pytest.mark.parametrize(
    ("text", "waiting", "every"),
    [
        (ours(OPEN), 1, RECORD_INTERVAL),
        (ours(OPEN), 0, IDLE_RECORD_INTERVAL),
        (write_record(OPEN, {"me": 1}), 1, IDLE_RECORD_INTERVAL),
    ],
)
@virtually
async def test_records_are_read_often_only_if_deliveries_here_wait_for_other_workers(
    text: bytes, waiting: int, every: float
) -> None:
    place = Workplace()
    _, lane = place.whole_of(OPEN, text)
    lane.backlog = waiting
    await place.exchange.look()
    assert [timer.at for timer in place.timers] == [NOON + every]
    assert place.store.reads == 0  # it was read when it was loaded
    place.push(every / 2 - 0.1)
    await place.exchange.look()
    assert place.store.reads == 0
    place.push(0.1)
    await place.exchange.look()
    await place.exchange.look()
    assert place.store.reads == 1
    live = [timer.at for timer in place.timers if timer.at < NOON + 1000]
    assert live == [place.now + every]


@virtually
async def test_the_loop_that_reads_records_is_woken_when_it_is_time() -> None:
    place = Workplace()
    place.whole_of(OPEN, ours(OPEN))
    await place.exchange.look()
    place.signals.share.clear()
    place.push(RECORD_INTERVAL)
    assert place.signals.share.is_set()
    await place.exchange.look()
    assert place.store.reads == 1
    assert len(place.timers) == 1


@virtually
async def test_no_record_of_an_origin_that_is_well_is_read() -> None:
    place = Workplace()
    place.whole_of(WELL, theirs(WELL))
    await place.look()
    assert place.store.reads == 0
    assert not place.timers


@virtually
async def test_an_origin_that_was_well_for_a_while_is_read_again_once_it_is_in_trouble() -> None:
    place = Workplace()
    whole, _ = place.whole_of(WELL)
    await place.look()
    whole.open(place.now)
    await place.exchange.write([whole])
    await place.look()
    assert place.store.reads == 1


@virtually
async def test_records_are_still_read_when_nothing_waits_here_any_more() -> None:
    place = Workplace()
    _, lane = place.whole_of(OPEN, ours(OPEN))
    await place.exchange.look()
    lane.backlog = 0
    place.push(RECORD_INTERVAL)
    await place.exchange.look()
    assert [timer.at for timer in place.timers] == [place.now + IDLE_RECORD_INTERVAL]


@virtually
async def test_one_origin_that_other_workers_share_is_enough_to_read_often() -> None:
    place = Workplace()
    place.whole_of(OPEN, ours(OPEN))
    place.whole_of(OPEN, at="https://elsewhere.example:443")
    await place.exchange.look()
    assert [timer.at for timer in place.timers] == [NOON + RECORD_INTERVAL]
    await place.look()
    assert place.store.counts == 1


@pytest.mark.parametrize(("text", "counts"), [(ours(OPEN), 1), (b"", 0)])
@virtually
async def test_living_workers_are_counted_if_a_record_names_others(
    text: bytes, counts: int
) -> None:
    place = Workplace()
    place.store.alive = 1
    whole, _ = place.whole_of(OPEN, text)
    await place.look()
    assert place.store.counts == counts
    assert record_of(whole).sharers == 1


# --- What is read


@virtually
async def test_a_record_that_is_known_already_changes_nothing() -> None:
    place = Workplace()
    whole, _ = place.whole_of(OPEN.replace(probe_at=NOON + 90), ours(OPEN))
    await place.look()
    assert whole.gate.pace.probe_at == NOON + 90
    assert not whole.is_changed


@virtually
async def test_an_origin_that_came_back_while_its_record_was_read_does_not_follow_it() -> None:
    place = Workplace()
    whole, _ = place.whole_of(OPEN, ours(OPEN))
    place.other_writes(OPEN.replace(probes=9))
    place.store.meanwhile = whole.gate.close
    await place.look()
    assert record_of(whole).text == ours(OPEN)
    assert not whole.is_changed


@pytest.mark.parametrize(
    ("in_flight", "ahead", "is_written"),
    [
        (1, AHEAD - RECORD_INTERVAL - 0.1, True),
        (1, AHEAD - RECORD_INTERVAL + 0.1, False),
        (0, 0.0, False),
    ],
)
@virtually
async def test_a_probe_that_hangs_is_written_again_before_another_worker_sends_one(
    in_flight: int, ahead: float, *, is_written: bool
) -> None:
    place = Workplace()
    pace = OPEN.replace(probe_at=NOON + IDLE_RECORD_INTERVAL + ahead)
    whole, _ = place.whole_of(pace, ours(pace))
    whole.gate.in_flight = in_flight
    await place.look()
    assert whole.is_changed is is_written


@pytest.mark.parametrize(("pace", "is_written"), [(OPEN, True), (PACED, False)])
@virtually
async def test_a_backlog_that_grew_a_lot_is_written_while_an_origin_is_down(
    pace: Pace, *, is_written: bool
) -> None:
    place = Workplace()
    whole, lane = place.whole_of(pace, ours(pace))
    lane.backlog = 1_000
    await place.look()
    assert whole.is_changed is is_written


@pytest.mark.parametrize(
    ("known", "written"),
    [
        (b"", b""),
        (theirs(WELL), theirs(WELL)),
        (theirs(OPEN), theirs(OPEN)),
        (ours(OPEN), theirs(OPEN)),
        (ours(PACED), theirs(PACED)),
    ],
)
@virtually
async def test_a_worker_that_lost_its_lanes_does_not_write_that_an_origin_is_down(
    known: bytes, written: bytes
) -> None:
    place = Workplace()
    whole, lane = place.whole_of(OPEN, known)
    lane.group.leave(lane.member)
    whole.mark_changed()
    await place.exchange.write([whole])
    assert place.store.records[AT] == written
    assert not whole.is_changed


@virtually
async def test_a_worker_without_lanes_of_an_origin_does_not_add_its_name() -> None:
    place = Workplace()
    whole, lane = place.whole_of(OPEN, theirs(OPEN))
    lane.group.leave(lane.member)
    await place.look()
    assert not whole.is_changed


@virtually
async def test_a_backlog_that_drains_here_is_written_when_another_worker_is_done() -> None:
    place = Workplace()
    whole, _ = place.whole_of(PACED, ours(PACED))
    place.other_writes(WELL)
    await place.look()
    assert whole.gate.phase is Phase.PACED
    assert whole.is_changed


@pytest.mark.parametrize("pace", [OPEN, PACED])
@virtually
async def test_a_backlog_that_drains_here_does_not_follow_other_workers(pace: Pace) -> None:
    place = Workplace()
    whole, _ = place.whole_of(PACED, ours(PACED))
    before = whole.gate.pace
    place.other_writes(pace.replace(capacity=3.0))
    await place.look()
    assert whole.gate.pace == before
    assert not whole.is_changed


@virtually
async def test_an_early_probe_is_reserved_again_if_another_worker_wrote_but_did_not_probe() -> None:
    place = Workplace()
    whole, lane = place.whole_of(OPEN, ours(OPEN))
    lane.is_healthy = True
    lane.wait()  # it goes first, so it asks for a probe at once
    assert whole.wants_probe
    late = OPEN.replace(probe_at=NOON + 500)
    place.store.records[AT] = write_record(late, {"other": 1, "me": 1})
    place.push(RECORD_INTERVAL)
    place.signals.share.clear()
    await place.exchange.look()
    assert whole.wants_probe
    assert place.signals.share.is_set()


@virtually
async def test_an_early_probe_is_not_reserved_once_another_worker_has_probed() -> None:
    place = Workplace()
    whole, lane = place.whole_of(OPEN, ours(OPEN))
    lane.is_healthy = True
    lane.wait()
    place.other_writes(OPEN.replace(probe_at=NOON + 500, probes=1))
    await place.look()
    assert not whole.wants_probe
    assert whole.gate.pace.probe_at == NOON + 500


@pytest.mark.parametrize("pace", [PACED, WELL])
@virtually
async def test_an_origin_comes_back_when_a_probe_of_another_worker_passed(pace: Pace) -> None:
    place = Workplace()
    whole, lane = place.whole_of(OPEN, ours(OPEN))
    lane.is_healthy = True
    lane.wait()
    place.other_writes(pace)
    await place.look()
    assert whole.gate.phase is Phase.PACED
    assert lane.heard[-1] == (Phase.PACED,)
    assert not whole.wants_probe


@virtually
async def test_a_record_that_the_store_has_lost_is_no_news_and_is_written_again() -> None:
    place = Workplace()
    whole, _ = place.whole_of(OPEN, ours(OPEN))
    del place.store.records[AT]
    await place.look()
    assert whole.gate.phase is Phase.OPEN
    assert whole.is_changed


@virtually
async def test_an_outage_that_began_here_is_written_over_what_another_worker_knows() -> None:
    place = Workplace()
    whole, _ = place.whole_of(OPEN, ours(WELL))
    place.other_writes(PACED)
    whole.mark_changed()
    await place.exchange.write([whole])
    assert whole.gate.phase is Phase.OPEN
    assert whole.is_changed
    await place.exchange.write([whole])
    assert read_pace(place.store.records[AT], now=NOON).phase is Phase.OPEN
