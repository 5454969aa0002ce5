"""What workers do when they find that another one has written the record of an origin."""

import asyncio
from collections.abc import Sequence

import pytest

from tarry.core.pace import Pace, Phase
from tarry.service.dispatch.limits import pace_text
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.origins.record_exchange import LOOK, LOOK_RARELY
from tarry.service.dispatch.origins.shared_record import AHEAD, SharedRecord
from tarry.service.wire.exchange import Answer
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, VirtualService, virtual_service

AT = "https://gw.example:443"


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
    await asyncio.sleep(LOOK_RARELY + 1)
    return whole


async def goes_down(service: VirtualService, theirs: Pace) -> Origin:
    """An origin that is well at first, and goes down when another worker has written a record."""
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
    await service.store.learn({AT: pace_text.write(pace, whole=True, workers={"other": 5})})


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
    return pace_text.read_whole(text, now=service.now())


@virtually
async def test_an_open_gate_takes_over_the_time_of_the_next_probe() -> None:
    async with virtual_service() as service:
        whole = await a_whole(service)
        mine = whole.gate.pace
        theirs = mine.replace(probes=mine.probes + 1, probe_at=service.now() + 200)
        await another_writes(service, theirs)
        sent = len(service.sender.sent)
        await asyncio.sleep(LOOK + 0.1)
        assert whole.gate.pace.probe_at == pytest.approx(theirs.probe_at)
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
        await asyncio.sleep(2 * LOOK + 0.1)
        (text,) = await service.store.origins([AT])
        assert set(pace_text.read_workers(text)) == {"other", service.dispatcher.shards.worker}


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
        await asyncio.sleep(LOOK + 0.1)
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
        assert whole.gate.pace.probe_at == pytest.approx(theirs.probe_at)
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
        await asyncio.sleep(2 * LOOK)
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
        whole.gate.hurry(service.now())
        whole.serve()
        await asyncio.sleep(0.01)
        assert whole.gate.air == 1
        hanging = whole.gate.pace
        whole.gate.follow(hanging.replace(probe_at=service.now() + 1))
        whole.change()
        for _ in range(12):
            await asyncio.sleep(1)
            ahead = (await stored(service)).probe_at - service.now()
            assert AHEAD - 2 * LOOK - 0.1 <= ahead <= AHEAD


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
        await asyncio.sleep(LOOK_RARELY + 1)
        await another_writes(service, whole.gate.pace.replace(probe_at=service.now() + 900))
        await asyncio.sleep(2 * LOOK_RARELY)
        assert whole.gate.phase is Phase.OPEN
        looks = count_looks(service, monkeypatch)
        await asyncio.sleep(10 * LOOK_RARELY)
        assert 9 <= len(looks) <= 11

        service.sender.scripts["gw.example"] = lambda _request, _now: OK
        await another_writes(service, Pace(phase=Phase.PACED, rate=20.0, capacity=20.0))
        sent = len(service.sender.sent)
        await service.add()
        await asyncio.sleep(2)
        assert len(service.sender.sent) > sent
