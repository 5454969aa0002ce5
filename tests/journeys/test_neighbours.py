"""Behind one gateway: what is about one endpoint alone does not keep the others waiting."""

import asyncio
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import pytest

from tarry.core.pace import Phase
from tarry.core.probe_rule import PROBES
from tarry.service.dispatch.lane.answers import NO_OVERLOAD
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.explain import PaceScope, origins_of, outlook
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint
from tarry.service.store.kinds import AllDeliveriesOf, Lanes
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.virtual_loop import run_virtual, virtually
from tarry.testing.virtual_service import DOWN, OK, VirtualService, status, virtual_service
from tests.service.dispatch.lane.test_lane import lane_of
from tests.service.dispatch.origins.test_origin import lanes, the_origin


class Gateway:
    """Nobody is there until `up_at`; some of its paths answer with a status of their own then.

    So does the one that is asked first, if there is a status for it.
    """

    def __init__(self, up_at: float, own: dict[str, int] | None) -> None:
        self.up_at, self.own = up_at, own or {}
        self.first: int | None = None
        self.asked: list[tuple[float, str]] = []

    def __call__(self, request: Request, now: float) -> Answer:
        path = request.target.path
        self.asked.append((now, path))
        if now < self.up_at:
            return DOWN
        if self.first is not None:
            self.own[path], self.first = self.first, None
        return status(self.own[path]) if path in self.own else OK


async def behind_one(
    service: VirtualService, count: int, *, down: float, own: dict[str, int] | None = None
) -> tuple[list[Endpoint], Gateway]:
    """So many endpoints behind a gateway at which nobody is for some seconds."""
    endpoints = await lanes(service, count)
    service.sender.scripts["gw.example"] = gateway = Gateway(service.now() + down, own)
    return endpoints, gateway


async def until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110  nobody tells
        await asyncio.sleep(0.01)


async def recovered_in(count: int, code: int | None) -> tuple[float, list[str]]:
    """How long after its outage an origin came back, with an answer of its own for the first."""
    async with virtual_service() as service:
        endpoints, gateway = await behind_one(service, count, down=300)
        gateway.first = code
        await service.add()
        await asyncio.sleep(300)
        origin = the_origin(service)
        assert origin.gate.phase is Phase.OPEN
        await until(lambda: origin.gate.phase is not Phase.OPEN)
        back_at = service.now()
        for number, endpoint in enumerate(endpoints):
            if f"/{number}" not in gateway.own:
                await service.until_delivered(endpoint, within=300)
        assert len(gateway.own) == (code is not None)
        probes = [path for at, path in gateway.asked if gateway.up_at <= at <= back_at]
        return back_at - gateway.up_at, probes


@cache
def recovered_alike_in(count: int) -> float:
    """How long after its outage an origin came back whose endpoints all answer alike."""
    took, _ = run_virtual(recovered_in(count, None))
    return took


@pytest.mark.parametrize("code", [401, 403, 404, 405, 410])
def test_one_dead_token_of_2000_endpoints_keeps_nobody_waiting(code: int) -> None:
    took, probes = run_virtual(recovered_in(2000, code))
    assert took <= recovered_alike_in(2000) + 0.1
    assert len(probes) <= 3


@pytest.mark.parametrize("code", [401, 404, 410])
def test_one_that_is_refused_first_keeps_nobody_waiting(code: int) -> None:
    took, probes = run_virtual(recovered_in(5, code))
    assert took <= recovered_alike_in(5) + 0.1
    assert len(probes) <= 3


@pytest.mark.parametrize("count", [2, 3, 40])
@pytest.mark.parametrize("code", [401, 404])
@virtually
async def test_a_gateway_that_refuses_all_is_probed_as_one_and_nothing_is_lost(
    count: int, code: int
) -> None:
    async with virtual_service() as service:
        refused = {f"/{number}": code for number in range(count)}
        endpoints, gateway = await behind_one(service, count, down=60, own=refused)
        await service.add()
        await asyncio.sleep(60)
        assert the_origin(service).shared
        del gateway.asked[:]
        for _ in range(6):
            await asyncio.sleep(600)
            assert the_origin(service).gate.phase is Phase.OPEN
            assert len(gateway.asked) <= 21
            del gateway.asked[:]
        gateway.own = {}
        late = PROBES.latest(3_700, waiting=count)  # the outage is an hour and a minute old
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=late + 60)
            assert await service.counts(endpoint) == {State.DELIVERED: 1}


@virtually
async def test_an_endpoint_is_not_probed_again_before_it_has_answered() -> None:
    async with virtual_service() as service:
        refused = {f"/{number}": 404 for number in range(30)}
        _, gateway = await behind_one(service, 30, down=60, own=refused)
        await service.add(3)
        await asyncio.sleep(1800)
        instants = [at for at, _ in gateway.asked if at > gateway.up_at + 60]
        assert len(instants) > 20
        assert all(after > before + 1 for before, after in pairwise(instants))


@virtually
async def test_answers_that_go_to_and_fro_do_not_make_the_probes_more() -> None:
    async with virtual_service() as service:
        await behind_one(service, 9, down=60)
        await service.add()
        await asyncio.sleep(60)
        answers = [status(404), status(503)] * 1000
        asked: list[float] = []

        def script(_request: Request, now: float) -> Answer:
            asked.append(now)
            return answers.pop()

        service.sender.scripts["gw.example"] = script
        await asyncio.sleep(600)
        del asked[:]
        await asyncio.sleep(6000)
        assert 100 <= len(asked) <= 210


@virtually
async def test_a_deploy_that_answers_404_to_all_as_they_come_back_destroys_nothing() -> None:
    async with virtual_service() as service:
        endpoints = await lanes(service, 10)
        began_at = service.now()

        def script(_request: Request, now: float) -> Answer:
            age = now - began_at
            if age < 60:
                return DOWN
            return status(404) if 120 < age < 240 else OK

        service.sender.scripts["gw.example"] = script
        for _ in range(300):
            await service.add()
            await asyncio.sleep(1)
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=120)
            assert await service.counts(endpoint) == {State.DELIVERED: 300}
        refused = [sent for sent in service.sender.sent if sent.answer.status == 404]
        assert len(refused) <= 150


@pytest.mark.parametrize("code", [401, 500])
@virtually
async def test_one_that_stays_down_when_the_others_are_back_is_on_its_own(code: int) -> None:
    async with virtual_service() as service:
        endpoints, gateway = await behind_one(service, 8, down=120, own={"/0": code})
        await service.add(40)
        await asyncio.sleep(120)
        assert the_origin(service).shared
        for endpoint in endpoints[1:]:
            await service.until_delivered(endpoint, within=120)
        await asyncio.sleep(60)
        assert not the_origin(service).shared
        row = await service.store.get(Lanes(endpoints[0].application), endpoints[0].id)
        assert outlook(row, now=service.now()).phase is Phase.OPEN
        for _ in range(60):  # and whoever is well notices nothing of it
            await service.add()
            await asyncio.sleep(0.5)
            assert [await service.waiting(one) for one in endpoints[1:]] == [0] * 7
            await asyncio.sleep(10)
        gateway.own = {}
        await service.until_delivered(endpoints[0], within=600)
        assert await service.counts(endpoints[0]) == {State.DELIVERED: 100}


@pytest.mark.parametrize("code", [401, 429, 500])
@virtually
async def test_one_that_stays_down_goes_apart_while_the_others_come_back(code: int) -> None:
    async with virtual_service() as service:
        endpoints, gateway = await behind_one(service, 4, down=120, own={"/0": code})
        await service.add(1000)
        await asyncio.sleep(120)
        origin = the_origin(service)
        lane = lane_of(service, endpoints[0])
        await until(lambda: lane.uses_own_gate)
        assert (origin.gate.phase, lane.gate.phase) == (Phase.PACED, Phase.OPEN)
        await asyncio.sleep(0.1)
        row = await service.store.get(Lanes(endpoints[0].application), endpoints[0].id)
        records = await service.store.origins(origins_of(row))
        told = outlook(row, now=service.now(), origins=records)
        assert (told.phase, told.scope) == (Phase.OPEN, PaceScope.ENDPOINT)
        refused = [path for at, path in gateway.asked if path == "/0" and at >= gateway.up_at]
        assert len(refused) <= 40
        gateway.own = {}
        await until(lambda: not lane.uses_own_gate)
        assert (origin.gate.phase, lane.gate.phase) == (Phase.PACED, Phase.CLOSED)
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=300)
            assert await service.counts(endpoint) == {State.DELIVERED: 1000}


@virtually
async def test_one_that_cannot_be_reached_gets_few_requests_once_the_others_are_back() -> None:
    async with virtual_service() as service:
        dead, *others = await lanes(service, 3)
        up_at = service.now() + 20
        asked: list[float] = []

        def script(request: Request, now: float) -> Answer:
            if request.target.path == "/0" and now >= up_at:
                asked.append(now)
            return OK if request.target.path != "/0" and now >= up_at else DOWN

        service.sender.scripts["gw.example"] = script
        await service.add(5)
        for endpoint in others:
            await service.until_delivered(endpoint, within=300)
        await asyncio.sleep(30)
        assert len(asked) <= RULE.failures + 5
        assert lane_of(service, dead).gate.phase is Phase.OPEN


@virtually
async def test_one_that_goes_down_while_all_of_them_drain_gets_few_requests() -> None:
    async with virtual_service() as service:
        dead, *_ = await lanes(service, 3)
        up_at = service.now() + 20
        asked: list[float] = []

        def script(request: Request, now: float) -> Answer:
            if request.target.path == "/0" and now >= up_at + 1:
                asked.append(now)
                return status(503)
            return OK if now >= up_at else DOWN

        service.sender.scripts["gw.example"] = script
        await service.add(3000)
        await asyncio.sleep(22)
        assert asked
        assert the_origin(service).gate.phase is Phase.PACED
        await asyncio.sleep(30)
        assert len(asked) <= 2 * NO_OVERLOAD
        assert lane_of(service, dead).gate.phase is Phase.OPEN


@virtually
async def test_those_that_are_dead_already_do_not_shut_it_for_the_others() -> None:
    async with virtual_service() as service:
        await behind_one(service, 12, down=0, own={f"/{number}": 404 for number in range(6)})
        for round_ in range(20):
            await service.add()
            await asyncio.sleep(2 + round_)
        for restart in (False, True):
            if restart:
                await service.stop()
                await service.start()
            await asyncio.sleep(3600)  # nobody but the dead is asked
            (message,) = await service.add()
            await asyncio.sleep(1)
            states = [
                found.state for _, found in await service.store.read(AllDeliveriesOf(message))
            ]
            assert states.count(State.DELIVERED) == 6
        service.sender.scripts["gw.example"] = lambda _request, _now: status(503)
        await service.add(3)
        await asyncio.sleep(5)
        assert the_origin(service).gate.phase is Phase.OPEN  # the others tell when it is all of it


@virtually
async def test_those_that_come_new_to_a_gateway_that_refuses_all_do_not_probe_it_each() -> None:
    async with virtual_service() as service:
        await behind_one(service, 10, down=60)
        await service.add()
        await asyncio.sleep(60)
        service.sender.scripts["gw.example"] = lambda _request, _now: status(404)
        await asyncio.sleep(600)
        assert the_origin(service).gate.phase is Phase.OPEN
        sent = len(service.sender.sent)
        owner = await service.add_application()
        for number in range(100):
            await service.add_endpoint("gw.example", path=f"/new/{number}", application=owner)
        await service.add(application=owner)
        await asyncio.sleep(60)
        assert len(service.sender.sent) - sent <= 8
        await asyncio.sleep(540)
        assert len(service.sender.sent) - sent <= 25


@pytest.mark.parametrize("dead", [3, 30])
@virtually
async def test_nobody_waits_behind_those_that_are_refused(dead: int) -> None:
    async with virtual_service() as service:
        owner = await service.add_application()
        refused = {f"/{number}": 404 for number in range(dead)}
        await behind_one(service, dead, down=60, own=refused)
        good = await service.add_endpoint("gw.example", path="/good", application=owner)
        await service.add(3)
        await asyncio.sleep(1800)
        assert the_origin(service).gate.phase is Phase.OPEN
        for _ in range(20):
            await service.add(application=owner)
            await service.until_delivered(good, within=1)
            await asyncio.sleep(30)
        shared = [level.application for level in service.dispatcher.origins if level.shared]
        assert shared in ([], [service.application.id])


@virtually
async def test_an_endpoint_that_hangs_does_not_hold_up_the_others_while_they_drain() -> None:
    async with virtual_service() as service:
        (hanging, *others), gateway = await behind_one(service, 4, down=30)

        def hangs(request: Request, now: float) -> Answer:
            answer = gateway(request, now)
            return (
                Answer(15.0, status=200) if answer is OK and request.target.path == "/0" else answer
            )

        service.sender.scripts["gw.example"] = hangs
        await service.add(100)
        await until(lambda: any(at >= gateway.up_at for at, _ in gateway.asked))
        back_at = service.now()
        for endpoint in others:
            await service.until_delivered(endpoint, within=30)
        assert service.now() - back_at < 12
        lane = lane_of(service, hanging)
        asked = sum(at >= gateway.up_at and path == "/0" for at, path in gateway.asked)
        assert lane.in_flight == asked <= lane.gates.shared.pace.room()
