"""An origin: its lanes are on their own while it is healthy, and one when it is in trouble."""

import asyncio
import json
from itertools import cycle

import pytest

from tarry.core.outcome import Kind
from tarry.core.pace import Pace, Phase
from tarry.core.probe_rule import ProbeRule
from tarry.service.dispatch.limits.gate import RULE, read_pace
from tarry.service.dispatch.origins.evidence import SEVERAL
from tarry.service.dispatch.origins.origin import HELD_FOR_ALL, Origin
from tarry.service.dispatch.origins.shared_record import Fleet, SharedRecord, write_record
from tarry.service.explain import PaceScope, origins_of, outlook, waits
from tarry.service.model.application import Application
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.origin import group_name
from tarry.service.store.kinds import AllDeliveriesOf, Lanes
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import NOON
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, VirtualService, status, virtual_service
from tests.service.dispatch.origins.place import (
    AT,
    FAILED,
    OPEN,
    PACED,
    REFUSED,
    TAKEN,
    UNREACHABLE,
    FakeLane,
    Place,
    drain,
    fail_together,
    overload,
)


async def lanes(service: VirtualService, count: int, host: str = "gw.example") -> list[Endpoint]:
    return [await service.add_endpoint(host, path=f"/{number}") for number in range(count)]


def all_answer(service: VirtualService, answer: Answer) -> None:
    service.sender.scripts["gw.example"] = lambda _request, _now: answer


def the_origin(service: VirtualService) -> Origin:
    """The level of the only origin whose gate its lanes use, or would use."""
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
@pytest.mark.parametrize("answer", [DOWN, Answer(0.01, status=404)], ids=["no server", "404"])
async def test_the_policy_of_a_dead_endpoint_says_how_often_it_is_probed(answer: Answer) -> None:
    requests = []
    rules: list[dict[str, float]] = [{}, {"late": 1.0, "steady": 0}, {"at_most": 10}]
    for probe in rules:
        async with virtual_service() as service:
            (endpoint,) = await lanes(service, 1)
            await service.change(endpoint, policy=json.dumps({"probe": probe}))
            all_answer(service, answer)
            await service.add()
            await asyncio.sleep(600)
            sent = len(service.sender.sent)
            await asyncio.sleep(3_000)
            requests.append(len(service.sender.sent) - sent)
    usual, seldom, often = requests
    assert 90 <= usual <= 110
    assert seldom <= 4
    assert 270 <= often <= 330


@virtually
@pytest.mark.parametrize("edit", ["enable", "policy"])
async def test_an_endpoint_that_its_owner_changed_is_probed_at_once(edit: str) -> None:
    async with virtual_service() as service:
        (endpoint,) = await lanes(service, 1)
        all_answer(service, status(404))
        await service.add()
        await asyncio.sleep(36_000)
        sent = len(service.sender.sent)
        if edit == "enable":
            endpoint = await service.change(endpoint, standing=Standing.DISABLED)
            await asyncio.sleep(5)
            await service.change(endpoint, standing=Standing.ENABLED)
        else:
            await service.change(endpoint, policy=json.dumps({"attempt_timeout": 5}))
        await asyncio.sleep(5)
        assert len(service.sender.sent) == sent + 1


def test_a_shared_gate_probes_by_the_rule_that_finds_out_the_soonest() -> None:
    place = Place()
    group, lanes = place.group("a", 2)
    lanes[1].probe_rule = ProbeRule(at_most=60)
    group.open(NOON)
    assert group.gate.rule.probe == ProbeRule(at_most=60)
    group.add_probe_rule(ProbeRule(at_most=30))
    group.add_probe_rule(ProbeRule())
    assert group.gate.rule.probe == ProbeRule(at_most=30)
    group.leave(lanes[1].member)
    group.add_probe_rule(ProbeRule())
    assert group.gate.rule.probe == ProbeRule()


@virtually
async def test_when_the_next_probe_goes_is_on_record_after_each() -> None:
    async with virtual_service() as service:
        await lanes(service, 3)
        all_answer(service, DOWN)
        await service.add(4)
        await asyncio.sleep(600)
        origin = the_origin(service)
        (text,) = await service.store.origins([origin.name])
        found = read_pace(text, now=service.now())
        assert found.probes == origin.gate.pace.probes > 3
        assert found.probe_at == pytest.approx(origin.gate.pace.probe_at, abs=0.001)


@virtually
async def test_all_its_lanes_tell_of_the_trouble_also_those_that_never_sent() -> None:
    async with virtual_service() as service:
        endpoints = await lanes(service, 3)
        all_answer(service, DOWN)
        await service.add(4)
        await asyncio.sleep(5)
        for endpoint in endpoints:
            row = await service.store.get(Lanes(endpoint.application), endpoint.id)
            records = await service.store.origins(origins_of(row))
            told = outlook(row, now=service.now(), origins=records)
            assert (told.phase, told.scope) == (Phase.OPEN, PaceScope.ORIGIN)


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
            row = await service.store.get(Lanes(endpoint.application), endpoint.id)
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
        for endpoint, delivery in await service.store.read(AllDeliveriesOf(fresh)):
            row = await service.store.get(Lanes(endpoint.application), endpoint.id)
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
        (moving,) = [endpoint for endpoint in endpoints if endpoint.url.endswith(asked[0])]
        await service.move(moving, "https://other.example/in")
        await asyncio.sleep(5)
        (text,) = await service.store.origins([origin.name])
        found = read_pace(text, now=service.now())
        assert found.probe_at == pytest.approx(origin.gate.pace.probe_at, abs=0.001)
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
        assert all(group.gate_level is whole for group in groups)
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


# --- With lanes that a test moves by hand: each of these takes about a millisecond --------------


def test_levels_have_records_of_different_names() -> None:
    place = Place()
    whole, (group, _) = place.level(), place.group("a", 1)
    assert whole.name == AT
    assert group.name != whole.name
    assert group.name == group_name(AT, "a")


def test_a_new_origin_has_nothing_to_write_and_nothing_to_evaluate() -> None:
    place = Place()
    group, _ = place.group("a", 1)
    assert not group.is_changed
    assert not group.wants_probe
    assert not place.work.ticking


def test_an_origin_that_was_draining_before_a_restart_goes_on_evaluating_its_answers() -> None:
    place = Place()
    assert list(place.work.ticking) == []
    group, _ = place.group("a", 1, PACED)
    assert list(place.work.ticking) == [group]


def test_deliveries_of_all_groups_wait_for_the_whole_but_not_those_of_lanes_on_their_own() -> None:
    place = Place()
    (a, first), (b, second) = place.group("a", 2), place.group("b", 1)
    whole = place.make_whole(a, b)
    first[0].backlog, first[1].backlog, second[0].backlog = 5, 20, 100
    assert (a.waiting(), whole.waiting()) == (25, 125)
    first[1].uses_own_gate = True
    assert (a.waiting(), whole.waiting()) == (5, 105)


def test_deliveries_of_a_stopped_endpoint_do_not_wait_for_the_gate() -> None:
    place = Place()
    group, (stopped, other) = place.group("a", 2)
    stopped.backlog, other.backlog = 30, 4
    stopped.is_at_work = False
    assert group.waiting_here() == 4


def test_deliveries_are_counted_once_a_second_while_only_probes_go() -> None:
    place = Place()
    group, (lane,) = place.group("a", 1, OPEN)
    assert group.waiting_here() == 1
    lane.backlog = 9
    place.push(0.9)
    assert group.waiting_here() == 1
    place.push(0.1)
    assert group.waiting_here() == 9


def test_deliveries_are_counted_each_time_while_an_origin_drains() -> None:
    place = Place()
    group, (lane,) = place.group("a", 1, PACED)
    assert group.waiting_here() == 1
    lane.backlog = 9
    assert group.waiting_here() == 9


def test_deliveries_at_other_workers_wait_too() -> None:
    place = Place()
    record = SharedRecord(Fleet("me"), place.context, place.work)
    record.read(write_record(OPEN, {"me": 1, "other": 30}))
    whole = place.level(pace=OPEN, record=record)
    group, _ = place.group("a", 4)
    whole.adopt(group)
    assert (whole.waiting_here(), whole.waiting()) == (4, 34)


# --- Lanes that leave


@pytest.mark.parametrize(
    ("pace", "in_flight", "is_written"),
    [(OPEN, 1, True), (OPEN, 0, False), (Pace(), 1, False)],
)
def test_only_a_probe_that_moves_away_changes_when_the_next_one_goes(
    pace: Pace, in_flight: int, *, is_written: bool
) -> None:
    place = Place()
    group, lanes = place.group("a", 2, pace)
    lanes[0].in_flight = in_flight
    group.move_away(lanes[0].member)
    assert list(group.lanes) == [lanes[1].number]
    assert group.is_changed is is_written


def test_a_lane_that_is_back_as_a_new_object_stays_when_the_old_one_leaves() -> None:
    place = Place()
    group, (old,) = place.group("a", 1)
    new = FakeLane(place, group, old.number)
    group.join(new.member)
    group.leave(old.member)
    assert group.lanes == {old.number: new}


def test_a_lane_that_left_has_no_turn() -> None:
    place = Place()
    group, (leaving, staying) = place.group("a", 2, OPEN)
    for lane in (leaving, staying):
        lane.is_healthy = False
        lane.wait()
    group.leave(leaving.member)
    place.push(31)
    assert place.sent == [staying.number]


# --- Groups that come and go


def test_a_group_that_a_whole_in_trouble_adopts_goes_by_the_whole() -> None:
    place = Place()
    whole = place.make_whole(pace=OPEN)
    group, (lane,) = place.group("a", 1)
    whole.adopt(group)
    assert (group.whole, group.gate_level) == (whole, whole)
    assert lane.heard == [("shared",)]


def test_a_group_that_a_healthy_whole_adopts_goes_by_itself() -> None:
    place = Place()
    group, (lane,) = place.group("a", 1)
    whole = place.make_whole(group)
    assert (group.whole, group.gate_level) == (whole, group)
    assert lane.heard == []


def test_a_group_that_is_disowned_belongs_to_no_whole() -> None:
    place = Place()
    group, _ = place.group("a", 1)
    whole = place.make_whole(group, pace=OPEN)
    whole.disown(group)
    assert (group.whole, group.gate_level) == (None, group)
    assert not whole.groups


def test_a_group_that_its_whole_takes_over_closes_its_own_gate_and_says_so() -> None:
    place = Place()
    group, (lane,) = place.group("a", 1, OPEN)
    lane.is_healthy = False
    lane.wait()
    whole = place.make_whole(group, pace=OPEN)
    assert (group.shared, whole.shared) == (False, True)
    assert group.is_changed
    place.push(60)
    assert place.sent == []  # its turn is one of the whole's now


def test_a_healthy_group_that_its_whole_takes_over_has_nothing_to_write() -> None:
    place = Place()
    group, _ = place.group("a", 1)
    place.make_whole(group, pace=OPEN)
    assert not group.is_changed


# --- Whose turn it is


def test_at_an_open_gate_a_lane_that_failed_waits_and_one_that_is_well_goes_at_once() -> None:
    place = Place()
    _, (failing, well) = place.group("a", 2, OPEN)
    failing.is_healthy = False
    failing.wait()
    assert place.sent == []
    well.wait()
    assert place.sent == [well.number]


def test_at_an_origin_that_refuses_several_one_that_it_did_not_refuse_goes_at_once() -> None:
    place = Place()
    _, (*refused, failing) = place.group("a", SEVERAL + 1, OPEN)
    failing.is_healthy = False
    for lane in refused:
        lane.send_and_get(REFUSED)
    sent = len(place.sent)
    place.push(5)
    refused[0].wait()
    assert len(place.sent) == sent
    failing.wait()
    assert place.sent[sent:] == [failing.number]


@pytest.mark.parametrize(
    ("has_passed", "has_failed", "side_by_side"),
    [(True, False, True), (False, False, False), (True, True, False)],
)
def test_at_a_paced_whole_lanes_in_doubt_of_an_application_send_one_by_one(
    has_passed: bool,  # noqa: FBT001  a parameter
    has_failed: bool,  # noqa: FBT001  a parameter
    side_by_side: bool,  # noqa: FBT001  a parameter
) -> None:
    place = Place()
    group, lanes = place.group("a", 2)
    place.make_whole(group, pace=PACED)
    if has_passed:
        group.passed(place.now)
    for lane in lanes:
        lane.is_healthy = False
        lane.failed_at = place.now if has_failed else NOON - 100
        lane.wait()
    place.push(1)
    assert len(place.sent) == (2 if side_by_side else 1)


@pytest.mark.parametrize("level", ["group", "whole"])
def test_a_lane_that_hangs_takes_no_room_from_the_others(level: str) -> None:
    place = Place()
    group, (hangs, other) = place.group("a", 2, PACED if level == "group" else Pace())
    whole = place.make_whole(group, pace=PACED if level == "whole" else Pace())
    gate = (group if level == "group" else whole).gate
    hangs.wants_more = True
    hangs.wait()
    place.push(5)
    full = [hangs.number] * gate.pace.room()
    other.wait()
    place.push(5)
    assert place.sent == full
    hangs.is_hanging, hangs.wants_more = True, False
    group.gate_level.tick(place.now)
    place.push(1)
    assert place.sent[len(full) :].count(other.number) == 1


def test_at_a_paced_group_all_lanes_send_side_by_side() -> None:
    place = Place()
    _, lanes = place.group("a", 2, PACED)
    for lane in lanes:
        lane.is_healthy = False
        lane.wait()
    place.push(1)
    assert len(place.sent) == 2


@pytest.mark.parametrize("level", ["group", "whole"])
def test_an_answer_that_a_gate_does_not_count_gives_the_turn_to_the_next(level: str) -> None:
    place = Place()
    group, (first, second) = place.group("a", 2, OPEN if level == "group" else Pace())
    place.make_whole(group, pace=OPEN if level == "whole" else Pace())
    for lane in (first, second):
        lane.is_healthy = False
        lane.wait()
    place.push(31)
    assert place.sent == [first.number]
    place.push(3600)
    group.gate_level.gate.lost()
    group.gate_level.serve()
    assert place.sent == [first.number, second.number]


# --- Holds


def test_applications_that_were_asked_to_wait_hold_others_for_a_minute_at_most() -> None:
    place = Place()
    groups = [place.group(application, 1)[0] for application in "abc"]
    whole = place.make_whole(*groups)
    for group in groups:
        (lane,) = group.lanes.values()
        group.held(lane, place.now + 3600, place.now)
    assert whole.gate.pace.held_until == place.now + HELD_FOR_ALL


def test_several_lanes_that_are_held_hold_their_group_until_the_first_may_send() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    for lane, seconds in zip(lanes, (60, 30, 90), strict=True):
        assert not group.is_changed
        group.held(lane.member, NOON + seconds, NOON)
    assert group.gate.pace.held_until == NOON + 30
    assert group.is_changed
    assert not group.shared


def test_a_hold_that_is_over_does_not_count() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    group.held(lanes[0].member, NOON + 10, NOON)
    for lane in lanes[1:]:
        group.held(lane.member, NOON + 60, NOON + 10)
    assert group.gate.pace.held_until == 0.0


def test_a_hold_is_never_cut_by_the_next_one() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL + 1)
    for lane in lanes[:SEVERAL]:
        group.held(lane.member, NOON + 60, NOON)
    group.held(lanes[-1].member, NOON + 10, NOON)
    assert group.gate.pace.held_until == NOON + 60


def test_lanes_of_several_applications_that_are_held_hold_the_whole() -> None:
    place = Place()
    groups = [place.group(name, 2) for name in "abc"]
    whole = place.make_whole(*(group for group, _ in groups))
    for group, lanes in groups:
        assert whole.gate.pace.held_until == 0.0
        for lane in lanes:
            group.held(lane.member, NOON + 60, NOON)
    assert whole.gate.pace.held_until == NOON + 60
    assert all(group.gate.pace.held_until == 0.0 for group, _ in groups)


def test_a_success_ends_a_hold_and_those_who_asked_for_it_are_forgotten() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL)
    for lane in lanes:
        group.held(lane.member, NOON + 60, NOON)
    group.mark_saved()
    group.passed(NOON + 1)
    assert group.gate.pace.held_until == 0.0
    assert group.is_changed
    group.held(lanes[0].member, NOON + 60, NOON + 1)
    assert group.gate.pace.held_until == 0.0


def test_a_success_at_an_origin_without_a_hold_writes_nothing() -> None:
    place = Place()
    group, _ = place.group("a", 1)
    group.passed(place.now)
    assert not group.is_changed


# --- Other phases


def test_a_probe_that_passes_has_all_lanes_drain_and_the_pace_watched() -> None:
    place = Place()
    group, lanes = place.group("a", 2, OPEN)
    place.work.ticking.clear()
    lanes[0].is_healthy = lanes[1].is_healthy = False
    lanes[0].send_and_get(TAKEN)
    assert group.gate.phase is Phase.PACED
    assert [lane.heard for lane in lanes] == 2 * [[(Phase.PACED,)]]
    assert list(place.work.ticking) == [group]
    assert group.is_changed
    assert group.tick(place.now)


def test_an_open_origin_is_not_watched_between_its_probes() -> None:
    place = Place()
    group, _ = place.group("a", 1, OPEN)
    assert not group.tick(place.now)


def test_an_origin_whose_backlog_is_gone_leaves_its_lanes_to_themselves() -> None:
    place = Place()
    (a, first), (b, second) = place.group("a", 1), place.group("b", 1)
    whole = place.make_whole(a, b, pace=PACED)
    drain(place, whole, [*first, *second])
    assert (a.gate_level, b.gate_level) == (a, b)
    assert first[0].heard[-1] == second[0].heard[-1] == (Phase.CLOSED,)
    assert whole.is_changed


def test_nobody_has_a_turn_at_a_gate_that_closed() -> None:
    place = Place()
    group, (lane, waiting) = place.group("a", 2, PACED.replace(rate=0.01))
    group.gate.sent(place.now, 1)
    waiting.wait()
    lane.backlog = waiting.backlog = 0
    lane.get(TAKEN)
    group.tick(place.now)
    assert group.gate.phase is Phase.CLOSED
    place.push(200)
    assert place.sent == []


def test_an_origin_with_a_backlog_goes_on_draining() -> None:
    place = Place()
    group, (lane,) = place.group("a", 1, PACED)
    lane.send_and_get(TAKEN)
    for _ in range(20):
        place.push(RULE.tick)
        group.tick(place.now)
    assert group.gate.phase is Phase.PACED


@pytest.mark.parametrize("level", ["group", "whole"])
def test_lanes_that_are_still_down_are_no_evidence_after_the_others_came_back(level: str) -> None:
    place = Place()
    groups = [place.group(name, SEVERAL, PACED if level == "group" else Pace()) for name in "abc"]
    whole = place.make_whole(
        *(group for group, _ in groups), pace=PACED if level == "whole" else Pace()
    )
    all_lanes = [lane for _, lanes in groups for lane in lanes]
    for lane in all_lanes:
        lane.gate.open(place.now + RULE.tick / 2, 1)
    if level == "whole":
        drain(place, whole, all_lanes)
    for group, lanes in groups:
        if level == "group":
            drain(place, group, lanes)
        fail_together(lanes)
        assert not group.shared


def test_lanes_that_fail_together_at_a_pace_are_down_together_again() -> None:
    place = Place()
    group, lanes = place.group("a", SEVERAL, PACED)
    overload(place, group, lanes)
    assert group.gate.phase is Phase.OPEN
    assert [lane.heard for lane in lanes] == SEVERAL * [[("shared",)]]
    assert group.is_changed


def test_a_lane_that_fails_alone_at_a_pace_is_down_alone() -> None:
    place = Place()
    group, (bad, apart, good) = place.group("a", 3, PACED)
    good.is_healthy = False
    overload(place, group, [bad])
    assert group.gate.phase is Phase.CLOSED
    ((told, capacity, since),) = bad.heard
    assert (told, since) == ("alone", None)
    assert capacity is not None
    assert apart.heard == good.heard == [("released",)]
    assert group.is_changed


def test_a_lane_that_went_apart_is_not_opened_when_its_group_disbands() -> None:
    place = Place()
    group, (bad, *_) = place.group("a", 3, PACED)
    bad.uses_own_gate = True
    overload(place, group, [bad])
    assert bad.heard == [("released",)]


def test_a_group_that_disbanded_is_not_opened_by_the_lane_that_stayed_down() -> None:
    place = Place()
    group, (bad, *others) = place.group("a", SEVERAL, PACED)
    overload(place, group, [bad])
    for lane in (bad, *others):
        lane.gate.open(place.now - 1, 1)
    fail_together([bad, *others])
    assert not group.shared


def test_nobody_has_a_turn_at_a_gate_that_disbanded() -> None:
    place = Place()
    group, (bad, waiting, _) = place.group("a", 3, PACED)
    group.gate.in_flight = 100
    waiting.is_healthy = False
    waiting.wait()
    overload(place, group, [bad])
    group.gate.in_flight = 0
    group.serve()
    place.push(60)
    assert place.sent == []


def test_a_group_at_a_pace_that_cannot_connect_any_more_opens_the_whole() -> None:
    place = Place()
    group, lanes = place.group("a", 2, PACED)
    while group.gate.phase is Phase.PACED:
        place.push(RULE.tick)
        lanes[0].send_and_get(UNREACHABLE)
        group.tick(place.now)
    (whole,) = place.wholes
    assert (whole.gate.phase, group.gate_level, group.shared) == (Phase.OPEN, whole, False)
    assert lanes[0].heard == [("shared",)]


def test_a_whole_of_which_one_lane_fails_disbands() -> None:
    place = Place()
    (a, (bad, fine)), (b, (other,)) = place.group("a", 2), place.group("b", 1)
    whole = place.make_whole(a, b, pace=PACED)
    for lane in (bad, fine, other):
        lane.heard.clear()
    overload(place, whole, [bad])
    assert (whole.shared, a.shared, b.shared) == (False, False, False)
    assert (a.gate_level, b.gate_level) == (a, b)
    assert bad.heard[0][0] == "alone"
    assert bad.heard[0][1] is not None
    assert fine.heard == other.heard == [("released",)]


def test_a_group_is_not_opened_by_lanes_that_stayed_down_when_its_whole_disbanded() -> None:
    place = Place()
    group, (bad, *others) = place.group("a", SEVERAL)
    whole = place.make_whole(group, pace=PACED)
    overload(place, whole, [bad])
    for lane in (bad, *others):
        lane.gate.open(place.now - 1, 1)
    fail_together([bad, *others])
    assert not group.shared


def test_a_whole_of_which_one_application_fails_disbands_and_leaves_that_one_open() -> None:
    place = Place()
    (a, lanes), (b, (other,)) = place.group("a", SEVERAL), place.group("b", 1)
    whole = place.make_whole(a, b, pace=PACED)
    overload(place, whole, lanes)
    assert (whole.shared, a.shared, b.shared) == (False, True, False)
    assert a.gate.pace.capacity is not None
    assert other.heard[-1] == ("released",)


# --- What other workers know


def a_shared_whole(place: Place, pace: Pace, **workers: int) -> tuple[Origin, FakeLane]:
    """Make a whole with one lane and a record that other workers share."""
    record = SharedRecord(Fleet("me"), place.context, place.work)
    record.read(write_record(pace, workers))
    whole = place.level(pace=pace, record=record)
    group = place.level("a")
    whole.adopt(group)
    (lane,) = place.lanes(group, 1)
    lane.is_healthy = False
    return whole, lane


def test_a_probe_goes_once_it_is_reserved() -> None:
    place = Place()
    whole, lane = a_shared_whole(place, OPEN)
    lane.wait()
    assert not whole.wants_probe
    place.push(31)
    assert (whole.wants_probe, place.sent) == (True, [])
    assert whole.record is not None
    assert whole.record.written(whole.record.next_text(whole.gate, waiting=1))
    whole.serve()
    assert (whole.wants_probe, place.sent) == (False, [lane.number])


def test_a_whole_knows_whether_lanes_of_this_worker_belong_to_it() -> None:
    place = Place()
    whole, lane = a_shared_whole(place, OPEN)
    whole.adopt(place.level("b"))
    assert whole.has_lanes
    lane.group.leave(lane.member)
    assert not whole.has_lanes


def test_a_whole_that_comes_back_drains_with_its_share_of_the_pace() -> None:
    place = Place()
    whole, lane = a_shared_whole(place, OPEN.replace(capacity=80.0), me=1, other=1)
    lane.send_and_get(TAKEN)
    assert whole.gate.phase is Phase.PACED
    assert whole.gate.pace.capacity == pytest.approx(40.0)


def test_the_time_of_the_next_probe_is_taken_over_from_another_worker() -> None:
    place = Place()
    group, (failing, well) = place.group("a", 2, OPEN)
    failing.is_healthy = False
    failing.wait()
    well.wait()
    group.gate.lost()
    group.follow_probe(OPEN.replace(probe_at=NOON, probes=9))
    assert place.sent == [well.number, failing.number]
    planned = group.gate.pace.probe_at
    failing.get(FAILED)
    assert group.gate.pace.probe_at == planned  # the early probe was another worker's


def test_a_probe_that_passed_at_another_worker_lets_the_lanes_drain_here() -> None:
    place = Place()
    whole, lane = a_shared_whole(place, OPEN)
    for _ in range(4):
        whole.evidence.add_failure(lane.member, unreachable=True, now=place.now)
    lane.wait()
    place.push(1)
    whole.passed_elsewhere(PACED, place.now)
    assert whole.gate.phase is Phase.PACED
    assert whole.evidence.has_passed_since(place.now)
    place.push(1)
    assert place.sent == [lane.number]


def test_a_record_that_is_saved_is_written_again_after_the_next_change() -> None:
    place = Place()
    group, _ = place.group("a", 1)
    for _ in range(2):
        group.mark_changed()
        assert group.is_changed
        group.mark_saved()
        assert not group.is_changed


def test_an_origin_in_trouble_does_not_share_its_gate_with_another() -> None:
    place = Place()
    (a, _), (b, _) = place.group("a", 1), place.group("b", 1)
    a.open(place.now)
    b.open(place.now, capacity=10.0)
    assert (a.gate.pace.capacity, b.gate.pace.capacity) == (None, 10.0)


def test_a_change_of_phase_is_logged_with_the_number_of_lanes_and_of_deliveries_that_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    place = Place()
    group, _ = place.group("app_a", 3)
    with caplog.at_level("INFO"):
        group.open(place.now)
    assert caplog.messages == [f"all 3 lanes to {AT} app_a are open; 3 wait"]
