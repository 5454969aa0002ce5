"""An origin: its lanes are on their own while it is well, and one when it is in trouble."""

import asyncio
from itertools import cycle

import pytest

from tarry.core.outcome import Kind
from tarry.core.pace import Phase
from tarry.service.dispatch.limits import pace_text
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.origins.evidence import SEVERAL
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.explain import Scope, origins_of, outlook, waits
from tarry.service.model.application import Application
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, VirtualService, status, virtual_service

AT = "https://gw.example:443"


async def lanes(service: VirtualService, count: int, host: str = "gw.example") -> list[Endpoint]:
    return [await service.add_endpoint(host, path=f"/{number}") for number in range(count)]


def all_answer(service: VirtualService, answer: Answer) -> None:
    service.sender.scripts["gw.example"] = lambda _request, _now: answer


def the_origin(service: VirtualService) -> Origin:
    """The level of the only origin that its lanes go by, or would."""
    levels = list(service.dispatcher.origins)
    shared = [level for level in levels if level.shared]
    return shared[0] if shared else levels[0]


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
        (text,) = await service.store.origins([origin.name])
        found = pace_text.read(text, now=service.now())
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
            records = await service.store.origins(origins_of(row))
            told = outlook(row, now=service.now(), origins=records)
            assert (told.phase, told.scope) == (Phase.OPEN, Scope.ORIGIN)


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
async def test_lanes_that_were_down_before_another_passed_say_nothing_about_the_origin() -> None:
    async with virtual_service() as service:
        await lanes(service, SEVERAL + 1)
        paths = {f"/{number}" for number in range(SEVERAL)}
        service.sender.scripts["gw.example"] = lambda request, _now: (
            status(500) if request.target.path in paths else OK
        )
        for _ in range(30):
            await service.add()
            await asyncio.sleep(RULE.silence / 3)
        sent = len(service.sender.sent)
        for _ in range(60):  # the good one has nothing to send; the others are probed
            await asyncio.sleep(10)
            assert not the_origin(service).shared
        assert len(service.sender.sent) > sent + SEVERAL * RULE.failures


@virtually
async def test_it_remembers_how_many_fail_by_chance_for_its_new_lanes() -> None:
    async with virtual_service() as service:
        await lanes(service, 2)
        answers = cycle([OK, OK, status(500), status(500)])
        service.sender.scripts["gw.example"] = lambda _request, _now: next(answers)
        for _ in range(10):
            await service.add()
            await asyncio.sleep(0.1)
        history = the_origin(service).history
        assert history.passed >= 8
        assert history.failed == pytest.approx(history.passed, abs=2)


@virtually
async def test_successes_of_an_application_that_never_failed_count_as_well() -> None:
    async with virtual_service() as service:
        owners = await tenants(service, 2)
        answers = cycle([OK, status(500)])

        def first_fails_by_chance(request: Request, _now: float) -> Answer:
            return next(answers) if request.target.path.startswith("/0/") else OK

        service.sender.scripts["gw.example"] = first_fails_by_chance
        for _ in range(40):
            for owner in owners:
                await service.add(application=owner)
            await asyncio.sleep(0.1)
        group = next(level for level in service.dispatcher.origins if level.application)
        assert group.whole is not None
        assert group.history.share < 0.45


@virtually
async def test_failures_of_an_outage_are_none_by_chance() -> None:
    async with virtual_service() as service:
        await lanes(service, 2)
        all_answer(service, status(500))
        for _ in range(10):
            await service.add()
            await asyncio.sleep(1)
        assert the_origin(service).history.failed == 0
        all_answer(service, OK)
        await asyncio.sleep(60)
        await service.add()
        await asyncio.sleep(0.2)
        assert the_origin(service).history.failed <= RULE.failures


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
async def test_of_several_that_are_told_to_come_back_later_it_is_meant_until_somebody_passes() -> (
    None
):
    async with virtual_service() as service:
        began_at = service.now()
        await lanes(service, 4)
        service.sender.scripts["gw.example"] = lambda request, _now: (
            OK if request.target.path == "/good" else status(429, retry_after="60")
        )
        await service.add()
        await asyncio.sleep(2)
        origin = the_origin(service)
        assert began_at + 60 <= origin.gate.pace.held_until < began_at + 70
        good = await service.add_endpoint("gw.example", path="/good")
        await service.add()
        await service.until_delivered(good, within=1)
        assert origin.gate.pace.held_until == 0.0


@pytest.mark.parametrize(("owners", "is_held"), [(2, False), (3, True)])
@virtually
async def test_only_several_applications_that_are_told_so_hold_back_all(
    owners: int, *, is_held: bool
) -> None:
    async with virtual_service() as service:
        all_answer(service, status(429, retry_after="60"))
        for _ in range(owners):
            owner = await service.add_application()
            for number in range(4):
                await service.add_endpoint("gw.example", path=f"/{number}", application=owner)
            await service.add(application=owner)
        await asyncio.sleep(2)
        whole, *groups = service.dispatcher.origins
        assert all(group.gate.pace.held_until for group in groups)
        assert bool(whole.gate.pace.held_until) is is_held


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
        for endpoint, delivery in await service.store.deliveries(fresh):
            row = await service.store.lane(endpoint.application, endpoint.id)
            records = await service.store.origins(origins_of(row))
            why, goes_at = waits(delivery, row, now=service.now(), origins=records)
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
        (group,) = origin.groups.values()
        assert list(group.lanes) == [endpoints[3].lane]
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


@virtually
async def test_when_the_next_probe_goes_is_on_record_also_if_the_one_that_is_asked_moves() -> None:
    async with virtual_service() as service:
        endpoints = await lanes(service, 4)
        all_answer(service, status(500))
        await service.add()
        await asyncio.sleep(60)
        origin = the_origin(service)
        asked: list[str] = []
        probed = asyncio.Event()

        def script(request: Request, _now: float) -> Answer:
            asked.append(request.target.path)
            probed.set()
            return Answer(3.0, status=500)

        service.sender.scripts["gw.example"] = script
        await probed.wait()
        (moving,) = [one for one in endpoints if one.url.endswith(asked[0])]
        await service.move(moving, "https://other.example/in")
        await asyncio.sleep(5)
        (text,) = await service.store.origins([origin.name])
        found = pace_text.read(text, now=service.now())
        assert found.probe_at == pytest.approx(origin.gate.pace.probe_at)
        assert found.probe_at > service.now()


async def tenants(service: VirtualService, count: int, endpoints: int = 1) -> list[Application]:
    """Applications with so many endpoints each at one host."""
    owners = [await service.add_application() for _ in range(count)]
    for name, owner in enumerate(owners):
        for number in range(endpoints):
            path = f"/{name}/{number}"
            await service.add_endpoint("gw.example", path=path, application=owner)
    return owners


def open_levels(service: VirtualService) -> list[str]:
    """Whose lanes share a gate: the ids of applications, or nothing for all."""
    return [level.application for level in service.dispatcher.origins if level.shared]


@pytest.mark.parametrize(("count", "opens_all"), [(2, False), (3, True)])
@virtually
async def test_several_applications_that_fail_speak_for_all(count: int, *, opens_all: bool) -> None:
    async with virtual_service() as service:
        owners = await tenants(service, count, endpoints=3)
        all_answer(service, status(502))
        for owner in owners:
            await service.add(2, application=owner)
        await asyncio.sleep(5)
        expected = [""] if opens_all else [owner.id for owner in owners]
        assert open_levels(service) == expected


@virtually
async def test_one_application_that_finds_nobody_there_speaks_for_all() -> None:
    async with virtual_service() as service:
        loud, quiet = await tenants(service, 2, endpoints=3)
        all_answer(service, DOWN)
        await service.add(2, application=loud)
        await asyncio.sleep(5)
        assert open_levels(service) == [""]
        sent = len(service.sender.sent)
        await service.add(2, application=quiet)
        await asyncio.sleep(1)
        assert len(service.sender.sent) - sent <= 2


@virtually
async def test_an_answer_between_failed_connections_shows_that_somebody_is_there() -> None:
    async with virtual_service() as service:
        loud, _ = await tenants(service, 2, endpoints=2)
        answers = cycle([DOWN, DOWN, DOWN, DOWN, status(500), status(500)])
        service.sender.scripts["gw.example"] = lambda _request, _now: next(answers)
        for _ in range(60):
            await service.add(application=loud)
            await asyncio.sleep(1)
            assert open_levels(service) == []


@virtually
async def test_a_group_that_finds_nobody_there_while_it_is_open_opens_the_whole() -> None:
    async with virtual_service() as service:
        (owner,) = await tenants(service, 1, endpoints=5)
        all_answer(service, status(500))
        await service.add(2, application=owner)
        await asyncio.sleep(10)
        assert open_levels(service) == [owner.id]
        all_answer(service, DOWN)
        await asyncio.sleep(600)
        assert open_levels(service) == [""]


@virtually
async def test_an_application_that_goes_on_failing_parts_from_those_that_come_back() -> None:
    async with virtual_service() as service:
        good, bad = await tenants(service, 2, endpoints=4)
        all_answer(service, DOWN)
        for owner in (good, bad):
            await service.add(200, application=owner)
        await asyncio.sleep(60)
        assert open_levels(service) == [""]
        back_at = service.now()
        service.sender.scripts["gw.example"] = lambda request, _now: (
            status(500) if request.target.path.startswith("/1/") else OK
        )
        await asyncio.sleep(40)
        assert open_levels(service) == [bad.id]
        taken = [sent.at for sent in service.sender.sent if sent.answer is OK]
        assert len(taken) == 800
        assert max(taken) - min(taken) < 10
        failed = [sent for sent in service.sender.sent if sent.answer.status == 500]
        assert len([sent for sent in failed if sent.at > back_at]) <= 20
        all_answer(service, OK)
        await asyncio.sleep(60)
        assert open_levels(service) == []
        assert sum(sent.answer is OK for sent in service.sender.sent) == 1600


@virtually
async def test_an_application_that_parted_is_probed_with_all_when_nobody_is_there() -> None:
    async with virtual_service() as service:
        good, bad = await tenants(service, 2, endpoints=4)
        all_answer(service, DOWN)
        for owner in (good, bad):
            await service.add(500, application=owner)
        await asyncio.sleep(60)
        service.sender.scripts["gw.example"] = lambda request, _now: (
            status(500) if request.target.path.startswith("/1/") else OK
        )
        while open_levels(service) != ["", bad.id]:  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.05)
        all_answer(service, DOWN)
        await asyncio.sleep(30)
        assert open_levels(service) == [""]
        whole, *groups = service.dispatcher.origins
        assert all(group.leader is whole for group in groups)
        all_answer(service, OK)
        await asyncio.sleep(120)
        assert open_levels(service) == []
        assert sum(sent.answer is OK for sent in service.sender.sent) >= 4000


@virtually
async def test_when_all_come_back_but_few_that_fail_only_those_stay_open() -> None:
    async with virtual_service() as service:
        owners = await tenants(service, 3)
        all_answer(service, DOWN)
        for owner in owners:
            await service.add(3, application=owner)
        await asyncio.sleep(60)
        assert open_levels(service) == [""]
        service.sender.scripts["gw.example"] = lambda request, _now: (
            status(500) if request.target.path == "/2/0" else OK
        )
        await asyncio.sleep(60)
        assert open_levels(service) == []
        (lane,) = service.dispatcher.origins.group(AT, owners[2].id).lanes.values()
        assert lane.gate.phase is Phase.OPEN
        assert sum(sent.answer is OK for sent in service.sender.sent) == 6
