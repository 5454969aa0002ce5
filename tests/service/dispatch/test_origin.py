"""An origin: its lanes are on their own while it is well, and one when it is in trouble."""

import asyncio

import pytest

from tarry.core.outcome import Kind
from tarry.core.pace import Phase
from tarry.service.dispatch import pace_text
from tarry.service.dispatch.evidence import SEVERAL
from tarry.service.dispatch.origin import Origin
from tarry.service.explain import origin_of, outlook, waits
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, VirtualService, status, virtual_service


async def lanes(service: VirtualService, count: int, host: str = "gw.example") -> list[Endpoint]:
    return [await service.add_endpoint(host, path=f"/{number}") for number in range(count)]


def all_answer(service: VirtualService, answer: Answer) -> None:
    service.sender.scripts["gw.example"] = lambda _request, _now: answer


def the_origin(service: VirtualService) -> Origin:
    (origin,) = service.dispatcher.muster.origins.values()
    return origin


@virtually
async def test_when_nobody_is_there_all_its_lanes_are_probed_as_one() -> None:
    async with virtual_service() as service:
        await lanes(service, 30)
        all_answer(service, DOWN)
        await service.add()
        await asyncio.sleep(5)
        assert the_origin(service).shared
        sent = len(service.sender.sent)
        await asyncio.sleep(595)
        assert len(service.sender.sent) - sent <= 20


@virtually
async def test_when_the_next_probe_goes_is_on_record_after_each() -> None:
    async with virtual_service() as service:
        await lanes(service, 3)
        all_answer(service, DOWN)
        await service.add(4)
        await asyncio.sleep(600)
        origin = the_origin(service)
        found = pace_text.read(await service.store.origin(origin.name), now=service.now())
        assert found.probes == origin.gate.pace.probes > 3
        assert found.probe_at == pytest.approx(origin.gate.pace.probe_at)


@virtually
async def test_all_its_lanes_tell_of_the_trouble_also_those_that_never_sent() -> None:
    async with virtual_service() as service:
        endpoints = await lanes(service, 3)
        all_answer(service, DOWN)
        await service.add(4)
        await asyncio.sleep(5)
        for endpoint in endpoints:
            row = await service.store.lane(endpoint.application, endpoint.id)
            pace = await service.store.origin(origin_of(row))
            told = outlook(row, now=service.now(), origin=pace)
            assert (told.phase, told.shared) == (Phase.OPEN, True)


@virtually
async def test_lanes_that_are_taken_over_in_its_trouble_are_well_when_it_is() -> None:
    async with virtual_service() as service:
        endpoints = await lanes(service, 3)
        all_answer(service, DOWN)
        await service.add(8)
        await asyncio.sleep(600)
        await service.stop()
        await service.start()
        await asyncio.sleep(60)
        assert the_origin(service).shared
        all_answer(service, OK)
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=600)
        await asyncio.sleep(5)
        for endpoint in endpoints:
            row = await service.store.lane(endpoint.application, endpoint.id)
            assert outlook(row, now=service.now()).phase is Phase.CLOSED


@virtually
async def test_probes_go_round_its_lanes_and_all_come_back_together() -> None:
    async with virtual_service() as service:
        endpoints = await lanes(service, 10)
        all_answer(service, DOWN)
        paths: list[str] = []

        def script(request: Request, _now: float) -> Answer:
            paths.append(request.target.path)
            return DOWN

        await service.add()
        await asyncio.sleep(5)
        service.sender.scripts["gw.example"] = script
        await asyncio.sleep(1200)
        assert len(set(paths)) == 10
        all_answer(service, OK)
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=60)
        await asyncio.sleep(5)
        assert not the_origin(service).shared


@pytest.mark.parametrize("answer", [status(500), Answer(0.01, failure=Kind.TIMEOUT)])
@virtually
async def test_a_lane_that_fails_alone_has_its_own_troubles(answer: Answer) -> None:
    async with virtual_service() as service:
        endpoints = await lanes(service, 5)
        service.sender.scripts["gw.example"] = lambda request, _now: (
            answer if request.target.path == "/0" else OK
        )
        for _ in range(30):
            await service.add()
            await asyncio.sleep(1)
        assert not the_origin(service).shared
        for endpoint in endpoints[1:]:
            await service.until_delivered(endpoint, within=1)
            assert await service.counts(endpoint) == {State.DELIVERED: 30}


@virtually
async def test_several_that_fail_while_none_passes_speak_for_it() -> None:
    async with virtual_service() as service:
        await lanes(service, SEVERAL + 1)
        all_answer(service, status(502))
        for _ in range(3):
            await service.add()
            await asyncio.sleep(1)
        assert the_origin(service).shared


@virtually
async def test_of_several_that_are_told_to_come_back_later_it_is_meant_for_all() -> None:
    async with virtual_service() as service:
        began_at = service.now()
        await lanes(service, 6)

        def script(request: Request, now: float) -> Answer:
            told = now - began_at < 1 and request.target.path in {"/0", "/1", "/2", "/3"}
            return status(429, retry_after="60") if told else OK

        service.sender.scripts["gw.example"] = script
        await service.add()
        await asyncio.sleep(2)
        origin = the_origin(service)
        assert origin.gate.pace.held_until >= began_at + 60


@virtually
async def test_who_asks_is_told_until_when_all_of_it_is_held() -> None:
    async with virtual_service() as service:
        began_at = service.now()
        endpoints = await lanes(service, 6)
        service.sender.scripts["gw.example"] = lambda _request, now: (
            status(429, retry_after="600") if now < began_at + 300 else OK
        )
        await service.add(3)
        await asyncio.sleep(20)
        (fresh,) = await service.add()
        await asyncio.sleep(1)
        assert the_origin(service).shared
        pace = await service.store.origin("https://gw.example:443")
        for endpoint, delivery in await service.store.deliveries(fresh):
            row = await service.store.lane(endpoint.application, endpoint.id)
            why, goes_at = waits(delivery, row, now=service.now(), origin=pace)
            assert why is Reason.LANE_OPEN
            assert began_at + 600 < (goes_at or 0.0) < began_at + 661
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=700)


@virtually
async def test_a_lane_that_leaves_is_not_waited_for() -> None:
    async with virtual_service() as service:
        endpoints = await lanes(service, 4)
        all_answer(service, DOWN)
        await service.add()
        await asyncio.sleep(30)
        origin = the_origin(service)
        assert origin.shared
        for endpoint in endpoints[:3]:
            await service.move(endpoint, f"https://other{endpoint.lane}.example/in")
            await service.until_delivered(endpoint, within=10)
        assert list(origin.lanes) == [endpoints[3].lane]
        all_answer(service, OK)
        await service.until_delivered(endpoints[3], within=120)


@virtually
async def test_a_restart_finds_it_as_it_was() -> None:
    async with virtual_service() as service:
        await lanes(service, 10)
        all_answer(service, DOWN)
        await service.add()
        await asyncio.sleep(600)
        await service.stop()
        sent = len(service.sender.sent)
        await service.start()
        await asyncio.sleep(10)
        assert the_origin(service).gate.phase is Phase.OPEN
        assert len(service.sender.sent) - sent <= 1


@virtually
async def test_one_that_is_gone_for_good_does_not_end_the_probes_of_the_others() -> None:
    async with virtual_service() as service:
        endpoints = await lanes(service, 10)
        all_answer(service, DOWN)
        await service.add()
        await asyncio.sleep(60)
        assert the_origin(service).shared
        gone: list[str] = []

        def script(request: Request, _now: float) -> Answer:
            gone.append(request.target.path)
            return status(410) if request.target.path == gone[0] else OK

        service.sender.scripts["gw.example"] = script
        await asyncio.sleep(300)
        left = [endpoint for endpoint in endpoints if not endpoint.url.endswith(gone[0])]
        assert len(left) == 9
        for endpoint in left:
            assert await service.counts(endpoint) == {State.DELIVERED: 1}


@pytest.mark.parametrize("fifo", [False, True])
@virtually
async def test_lanes_that_take_one_at_a_time_come_back_side_by_side(fifo: bool) -> None:  # noqa: FBT001  a parameter
    async with virtual_service() as service:
        until = service.now() + 300

        def script(_request: Request, now: float) -> Answer:
            return DOWN if now < until else Answer(0.5, status=200)

        endpoints = [
            await service.add_endpoint(
                "gw.example", script, path=f"/{number}", concurrency=1, fifo=fifo
            )
            for number in range(30)
        ]
        await service.add(5)
        await asyncio.sleep(300)
        assert the_origin(service).shared
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=120)


@virtually
async def test_one_that_moves_while_it_is_asked_does_not_end_the_probes_of_the_others() -> None:
    async with virtual_service() as service:
        endpoints = await lanes(service, 6)
        all_answer(service, DOWN)
        await service.add()
        await asyncio.sleep(60)
        asked: list[str] = []
        probed = asyncio.Event()

        def script(request: Request, _now: float) -> Answer:
            asked.append(request.target.path)
            probed.set()
            return Answer(10.0, failure=Kind.TIMEOUT) if len(asked) == 1 else OK

        service.sender.scripts["gw.example"] = script
        await probed.wait()
        (moving,) = [one for one in endpoints if one.url.endswith(asked[0])]
        await service.move(moving, "https://other.example/in")
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=300)
