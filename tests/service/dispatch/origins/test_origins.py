"""Which origins are in memory at which level, and what is on record of them."""

import asyncio
from collections.abc import Iterator
from itertools import count

import pytest

from tarry.core.pace import Pace, Phase
from tarry.errors import StoreUnavailable
from tarry.service.dispatch.limits.gate import read_pace, write_pace
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.model.application import shard_of
from tarry.service.model.origin import group_name
from tarry.service.model.settings import HOUR
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, OK, VirtualService, status, virtual_service

AT = "https://gw.example:443"
OPEN = Pace(phase=Phase.OPEN, rate=0.0, down_since=1.0, probe_at=1e12, probes=9)


def levels(service: VirtualService) -> list[Origin]:
    return list(service.dispatcher.origins)


@virtually
async def test_an_origin_with_lanes_of_one_application_has_no_whole() -> None:
    async with virtual_service() as service:
        for path in ("/0", "/1"):
            await service.add_endpoint("gw.example", path=path)
        await service.add(50)
        await asyncio.sleep(0.005)
        (group,) = levels(service)
        assert (group.application, group.whole) == (service.application.id, None)
        assert len(group.lanes) == 2


@virtually
async def test_with_a_second_application_it_has_one() -> None:
    async with virtual_service() as service:
        owners = [service.application, await service.add_application()]
        for number, owner in enumerate(owners):
            await service.add_endpoint("gw.example", path=f"/{number}", application=owner)
            await service.add(50, application=owner)
            await asyncio.sleep(0.005)
        whole, *groups = levels(service)
        assert (whole.application, whole.name) == ("", AT)
        assert [group.application for group in groups] == [owner.id for owner in owners]
        assert [group.name for group in groups] == [f"{AT} {owner.id}" for owner in owners]
        assert all(group.whole is whole for group in groups)


@virtually
async def test_those_without_lanes_are_forgotten_at_both_levels_once_they_are_well() -> None:
    async with virtual_service() as service:
        owners = [service.application, await service.add_application()]
        for number, owner in enumerate(owners):
            await service.add_endpoint("gw.example", path=f"/{number}", application=owner)
            await service.add(application=owner)
        await asyncio.sleep(0.005)
        assert len(levels(service)) == 3
        await asyncio.sleep(130)
        assert not levels(service)


@virtually
async def test_one_that_is_open_is_kept_and_comes_back() -> None:
    async with virtual_service() as service:
        endpoints = [
            await service.add_endpoint("gw.example", path=f"/{number}") for number in range(3)
        ]
        service.sender.scripts["gw.example"] = lambda _request, _now: DOWN
        await service.add()
        await asyncio.sleep(300)
        whole, group = levels(service)
        assert (whole.gate.phase, group.gate.phase) == (Phase.OPEN, Phase.CLOSED)
        service.sender.scripts["gw.example"] = lambda _request, _now: OK
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=120)
        await asyncio.sleep(130)
        assert not levels(service)


@virtually
async def test_the_trouble_of_one_application_is_on_record_under_its_own_name() -> None:
    async with virtual_service() as service:
        for number in range(5):
            await service.add_endpoint("gw.example", path=f"/{number}")
        service.sender.scripts["gw.example"] = lambda _request, _now: status(500)
        await service.add()
        await asyncio.sleep(5)
        name = group_name(AT, service.application.id)
        whole, group = await service.store.origins([AT, name])
        assert whole == b""
        assert read_pace(group, now=service.now()).phase is Phase.OPEN


@virtually
async def test_a_restart_finds_the_trouble_of_one_application_as_it_was() -> None:
    async with virtual_service() as service:
        for number in range(5):
            await service.add_endpoint("gw.example", path=f"/{number}")
        service.sender.scripts["gw.example"] = lambda _request, _now: status(500)
        await service.add()
        await asyncio.sleep(600)
        await service.stop()
        sent = len(service.sender.sent)
        await service.start()
        await asyncio.sleep(10)
        (group,) = levels(service)
        assert group.gate.phase is Phase.OPEN
        assert len(service.sender.sent) - sent <= 1


@virtually
async def test_a_lane_that_is_taken_up_joins_what_is_open_for_it_on_record() -> None:
    async with virtual_service() as service:
        await service.store.learn({AT: write_pace(OPEN)})
        await service.add_endpoint("gw.example", lambda _request, _now: DOWN)
        await service.add(50)
        await asyncio.sleep(60)
        whole, group = levels(service)
        assert (whole.shared, group.gate_level is whole) == (True, True)
        assert len(service.sender.sent) == 1  # it was asked first: it did not fail before


@virtually
async def test_what_is_open_on_record_of_another_application_holds_nobody_back() -> None:
    async with virtual_service() as service:
        await service.store.learn({group_name(AT, "app_other"): write_pace(OPEN)})
        endpoint = await service.add_endpoint("gw.example")
        await service.add()
        await service.until_delivered(endpoint, within=1)


@virtually
async def test_a_whole_that_another_worker_opened_takes_over_the_group_that_was_here() -> None:
    async with virtual_service() as service:
        for number in range(3):
            await service.add_endpoint("gw.example", path=f"/{number}")
        service.sender.scripts["gw.example"] = lambda _request, _now: status(500)
        await service.add(3)
        await asyncio.sleep(5)
        (group,) = levels(service)
        assert group.gate.phase is Phase.OPEN
        await service.store.learn({AT: write_pace(OPEN)})
        other = await service.add_application()
        await service.add_endpoint("gw.example", path="/other", application=other)
        await service.add(application=other)
        await asyncio.sleep(5)
        whole, first, second = levels(service)
        assert first is group
        assert (whole.shared, group.shared) == (True, False)
        assert group.gate_level is second.gate_level is whole


@virtually
async def test_what_could_not_be_written_is_written_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async with virtual_service() as service:
        for number in range(5):
            await service.add_endpoint("gw.example", path=f"/{number}")
        service.sender.scripts["gw.example"] = lambda _request, _now: status(500)

        async def learn(_origins: dict[str, bytes], **_expected: dict[str, bytes]) -> None:
            raise StoreUnavailable("it is away")

        with monkeypatch.context() as away:
            away.setattr(service.store, "learn", learn)
            await service.add()
            await asyncio.sleep(0.5)
        (group,) = levels(service)
        assert (group.shared, group.is_changed) == (True, True)
        await asyncio.sleep(5)
        assert not group.is_changed
        (text,) = await service.store.origins([group.name])
        assert read_pace(text, now=service.now()).phase is Phase.OPEN


@virtually
async def test_a_record_is_read_once_for_all_applications_of_an_origin_and_not_again() -> None:
    between = Between(Shaky)
    async with virtual_service(through=between) as service:
        await service.store.learn({AT: write_pace(OPEN)})
        origins, wanted = service.dispatcher.origins, [(AT, "app_a"), (AT, "app_b")]
        await origins.read(wanted)
        whole, *groups = levels(service)
        assert (whole.place, whole.shared) == (AT, True)
        assert [group.application for group in groups] == ["app_a", "app_b"]
        assert all(group.gate_level is whole for group in groups)
        calls = between.shaky.calls
        await origins.read(wanted)
        assert (between.shaky.calls, levels(service)) == (calls, [whole, *groups])


@virtually
async def test_a_look_at_the_records_writes_those_that_changed() -> None:
    async with virtual_service() as service:
        origins = service.dispatcher.origins
        group = origins.group(AT, "app_a")
        group.open(service.now())
        assert (group.shared, group.is_changed) == (True, True)
        await origins.share()
        assert not group.is_changed
        (text,) = await service.store.origins([group.name])
        assert read_pace(text, now=service.now()).phase is Phase.OPEN


def in_other_shards(application: str) -> Iterator[str]:
    """Return applications whose shards differ from each other and from that of this one."""
    shards = {shard_of(application)}
    for number in count():
        name = f"app_{number}"
        if shard_of(name) not in shards:
            shards.add(shard_of(name))
            yield name


@virtually
async def test_groups_of_shards_that_another_worker_owns_are_forgotten_although_they_are_open() -> (
    None
):
    async with virtual_service() as service:
        await service.add_endpoint("gw.example")
        await service.add(deliver_at=service.now() + HOUR)  # so that the lane stays
        await asyncio.sleep(1)
        origins, own = service.dispatcher.origins, service.application.id
        names = in_other_shards(own)
        dropped, kept = next(names), next(names)
        groups = {name: origins.group(AT, name) for name in (dropped, kept, own)}
        alone = origins.group("https://alone.example:443", dropped)
        for group in (*groups.values(), alone):
            group.open(service.now())
        await origins.save()
        work = service.dispatcher.work
        for group in (groups[dropped], alone):
            work.tick(group)
        origins.drop({shard_of(dropped), shard_of(own)})
        whole, *left = levels(service)
        assert not whole.application
        assert set(left) == {groups[kept], groups[own]}  # a group with a lane stays
        origins.write_again()
        changed = {name for name, group in groups.items() if group.is_changed}
        assert (changed, alone.is_changed) == ({kept, own}, False)
        assert not {groups[dropped], alone} & {*work.ticking}


@virtually
async def test_a_worker_that_loses_no_shard_forgets_no_group() -> None:
    async with virtual_service() as service:
        group = service.dispatcher.origins.group(AT, "app_a")
        group.open(service.now())
        service.dispatcher.origins.drop(set())
        assert levels(service) == [group]
