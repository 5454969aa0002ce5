"""Lanes are taken up, once each, and what they share is kept in bounds."""

import asyncio
import gc
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from tarry.core.pace import Phase
from tarry.core.text import to_json
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.limits.shared import TenantRate
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.ownership import lane_loader as loader
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.ids import APPLICATION, ENDPOINT
from tarry.service.model.lane import Fetched, LaneRow, Lease, Noting, Want
from tarry.service.model.settings import DELIVERY, HOUR, Limits
from tarry.service.store.contract import Store
from tarry.service.store.kinds import (
    AllAttemptsOf,
    Endpoints,
    Environment,
    PolicyVersion,
    PolicyVersions,
    Put,
)
from tarry.service.wire.exchange import Answer, Request
from tarry.testing.samples import ENVIRONMENT, new_id, new_message
from tarry.testing.shaky_store import Between, Shaky, slow
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    DOWN,
    OK,
    VirtualService,
    status,
    takes_all_but,
    virtual_service,
)
from tests.service.dispatch.lane.test_lane import a_lane


def the_lane(service: VirtualService) -> Lane:
    """The only one at work."""
    (lane,) = (
        lane for held in service.dispatcher.shards.owned.values() for lane in held.lanes.values()
    )
    return lane


@virtually
async def test_a_lane_is_taken_up_once_though_it_is_told_of_twice() -> None:
    between = slow(0.2)
    async with virtual_service(through=between) as service:
        endpoints = [await service.add_endpoint(f"{name}.example") for name in "abcdef"]
        await service.add(20)
        for endpoint in endpoints:
            await service.change(endpoint, description="changed")
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=60)
        assert len(service.sender.sent) == 6 * 20


@virtually
async def test_if_it_was_not_heard_which_lanes_woke_all_are_looked_through() -> None:
    between = Between(Shaky)
    seldom = Limits(lease=600, look=300, keep_up=600)
    async with virtual_service(limits=seldom, through=between) as service:
        endpoint = await service.add_endpoint("a.example")
        between.shaky.forgets = True
        await service.add()
        await asyncio.sleep(1.0)
        between.shaky.forgets = False
        await service.until_delivered(endpoint, within=10)


class Renumbered(Shaky):
    """After a failover, gives the numbers of all lanes to another endpoint."""

    other: Endpoint | None = None

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        rows = await self._store.lanes(lanes)
        if self.other is None:
            return rows
        there = replace(rows[0].application, id=self.other.application)
        return [replace(row, endpoint=self.other, application=there) for row in rows]


@virtually
async def test_a_lane_whose_number_a_failover_gave_to_another_endpoint_is_forgotten() -> None:
    between = Between(Renumbered)
    async with virtual_service(through=between) as service:
        endpoint = await service.add_endpoint("a.example", lambda _request, _now: DOWN)
        await service.add(3)
        await asyncio.sleep(5)
        shards, number = service.dispatcher.shards, endpoint.lane
        lost = the_lane(service)
        between.shaky.other = replace(
            endpoint, id=new_id(ENDPOINT), application=new_id(APPLICATION)
        )
        await service.dispatcher.loader.load([number])
        (lane,) = shards.lanes()
        assert lost.has_left
        assert lane is shards.lane(number)
        assert lane.endpoint.id == between.shaky.other.id


@virtually
async def test_a_wake_up_outlives_a_database_that_fails_before_the_lane_is_read() -> None:
    between = slow(0.1)
    async with virtual_service(through=between) as service:
        endpoint = await service.add_endpoint("a.example")
        await asyncio.sleep(5)
        await service.add()
        await asyncio.sleep(0.12)  # woken, and the lane is being read
        between.shaky.away = True
        await asyncio.sleep(3)
        between.shaky.away = False
        await service.until_delivered(endpoint, within=30)


@virtually
async def test_a_change_made_while_the_lane_is_being_read_is_seen() -> None:
    between = slow(0.2)
    async with virtual_service(through=between) as service:
        endpoint = await service.add_endpoint("a.example", rate=1.0)
        await service.add(10)
        await asyncio.sleep(1.1)
        lane = the_lane(service)
        await service.change(endpoint, rate=2.0)
        taking_up = asyncio.create_task(service.dispatcher.loader.load([lane.number]))
        await asyncio.sleep(0.3)  # it is read, and what belongs to it is not
        await service.store.put(replace(endpoint, rate=5.0, updated_at=service.now()))
        await service.dispatcher.loader.load([lane.number])
        await taking_up
        assert lane.endpoint.rate == 5.0


@virtually
async def test_each_policy_is_kept_once_under_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    async with virtual_service() as service:
        put, versions = service.store.put, list[str]()

        async def noted(record: Put, *, noting: Noting | None = None) -> Put:
            if isinstance(record, PolicyVersion):
                versions.append(record.version)
            return await put(record, noting=noting)

        monkeypatch.setattr(service.store, "put", noted)
        endpoint = await service.add_endpoint("a.example")
        await service.add()
        await asyncio.sleep(5)  # the lane has left, and is loaded again for the next message
        (message,) = await service.add()
        await service.until_delivered(endpoint, within=5)
        assert len(versions) == 1
        (attempt,) = await service.store.read(AllAttemptsOf(message))
        assert '"delivery"' in (await service.store.get(PolicyVersions(), attempt.policy)).document


@virtually
async def test_a_new_policy_of_its_environment_reaches_a_lane_at_work_within_a_second() -> None:
    async with virtual_service() as service:
        poison: list[str] = []
        await service.add_endpoint("a.example", takes_all_but(poison, status(500)))
        poison += await service.add()
        await service.add()
        await asyncio.sleep(5)
        slow = await service.delivery(*poison)
        assert slow.due_at is not None
        lane = the_lane(service)
        policy = '{"name": "new", "attempts": 2, "backoff": {"kind": "fixed", "delay": 1}}'
        await service.store.put(Environment(ENVIRONMENT, policy))
        await asyncio.sleep(1)
        assert lane.config.policy.name == "new"
        await asyncio.sleep(slow.due_at - service.now() + 5)
        ended = await service.delivery(*poison)
        assert (ended.state, ended.attempts) == (State.FAILED, 2)


@virtually
async def test_the_policy_of_the_endpoint_goes_before_all_others() -> None:
    def policy(name: str) -> str:
        return f'{{"version": 1, "name": "{name}"}}'

    async with virtual_service() as service:
        await service.store.put(Environment(ENVIRONMENT, policy("environment")))
        owner = await service.add_application(policy=policy("application"))
        await service.add_endpoint("a.example", application=owner, policy=policy("endpoint"))
        await service.add_endpoint("b.example", application=owner)
        await service.add_endpoint("c.example")
        names = {}
        for application in (owner, service.application):
            (message,) = await service.add(1, application)
            await asyncio.sleep(1)
            for attempt in await service.store.read(AllAttemptsOf(message)):
                names[attempt.url] = (
                    await service.store.get(PolicyVersions(), attempt.policy)
                ).document
        assert '"endpoint"' in names["https://a.example/in"]
        assert '"application"' in names["https://b.example/in"]
        assert '"environment"' in names["https://c.example/in"]


@virtually
async def test_many_lanes_are_taken_up_after_a_restart() -> None:
    async with virtual_service() as service:
        endpoints = [
            await service.add_endpoint(f"h{number}.example", event_types=(f"t{number}",))
            for number in range(600)
        ]
        await service.stop()
        await service.store.add(
            [
                new_message(service.application, event_type=f"t{number}", accepted_at=service.now())
                for number in range(600)
            ]
        )
        await service.start()
        for endpoint in endpoints:
            await service.until_delivered(endpoint, within=60)
        assert {sent.answer for sent in service.sender.sent} == {OK}
        assert len(service.sender.sent) == 600


class Policies(Shaky):
    """Counts how often a policy is put on record."""

    puts = 0

    async def put(self, record: Put) -> Put:
        self.puts += isinstance(record, PolicyVersion)
        return await self._store.put(record)


@virtually
async def test_what_it_keeps_in_mind_of_tenants_and_policies_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loader, "KNOWN_VERSIONS", 2)
    between = Between(Policies)

    def in_mind(kind: type) -> int:
        gc.collect()
        # By its type: to be asked for its class sets up what is lazy in other libraries.
        return sum(issubclass(type(one), kind) for one in gc.get_objects())

    before = in_mind(TenantRate)
    async with virtual_service(through=between, limits=Limits(keep_up=20)) as service:
        policies = [to_json(DELIVERY.replace(attempts=n)) for n in (1, 2, 3)]
        tenants = [await service.add_application(policy=policies[n % 3]) for n in range(6)]
        for number, tenant in enumerate(tenants):
            endpoint = await service.add_endpoint(f"{number}.example", application=tenant)
            await service.add(application=tenant)
            await service.until_delivered(endpoint, within=5)
        assert in_mind(TenantRate) - before >= 6
        assert between.shaky.puts > 3
        await asyncio.sleep(25)
        assert in_mind(TenantRate) == before


@virtually
async def test_an_endpoint_that_is_down_is_tried_at_once_when_somebody_asks() -> None:
    down = True

    def answers(_request: Request, _now: float) -> Answer:
        return DOWN if down else OK

    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", answers)
        await service.add(10)
        await asyncio.sleep(HOUR)
        sent = len(service.sender.sent)
        asked = await service.change(endpoint, probed_at=service.now())
        await asyncio.sleep(0.5)
        assert len(service.sender.sent) == sent + 1
        await service.change(asked, description="another")
        await asyncio.sleep(0.5)
        assert len(service.sender.sent) == sent + 1
        down = False
        await service.change(asked, probed_at=service.now())
        assert await service.until_delivered(endpoint, within=10) < 5


@virtually
@pytest.mark.parametrize("restarted", [False, True])
async def test_one_delivery_that_waits_for_its_own_time_goes_at_once_when_somebody_asks(
    *, restarted: bool
) -> None:
    down = True

    def answers(_request: Request, _now: float) -> Answer:
        return DOWN if down else OK

    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", answers)
        await service.add()
        await asyncio.sleep(60)  # two attempts failed, the next is in two minutes
        sent = len(service.sender.sent)
        if restarted:
            await service.stop()
            await service.start()
            await asyncio.sleep(1)
        down = False
        await service.change(endpoint, probed_at=service.now())
        assert await service.until_delivered(endpoint, within=5) < 1
        assert len(service.sender.sent) == sent + 1


@pytest.mark.slow
@virtually
@pytest.mark.parametrize("used", [False, True])
async def test_what_is_for_later_does_not_go_when_somebody_asks(*, used: bool) -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(int(used))
        await service.until_delivered(endpoint, within=5)
        await service.add(deliver_at=service.now() + HOUR)
        await asyncio.sleep(1)
        await service.change(endpoint, probed_at=service.now())
        await asyncio.sleep(60)
        assert len(service.sender.sent) == int(used)
        assert await service.until_delivered(endpoint, within=2 * HOUR) == pytest.approx(
            HOUR - 61, abs=5
        )


@virtually
async def test_a_gateway_that_is_down_is_tried_at_once_for_one_of_its_endpoints() -> None:
    async with virtual_service() as service:
        endpoints = [
            await service.add_endpoint("a.example", lambda _request, _now: DOWN) for _ in range(4)
        ]
        await service.add(10)
        await asyncio.sleep(HOUR)
        sent = len(service.sender.sent)
        await service.change(endpoints[2], probed_at=service.now())
        await asyncio.sleep(0.5)
        assert len(service.sender.sent) == sent + 1


class Deaf(Shaky):
    """A store that tells of no lane that was woken before it is let."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.hears = asyncio.Event()
        self.hears.set()

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        await self.hears.wait()
        return await self._store.woken(leases)


@pytest.mark.parametrize("resent", [False, True])
@virtually
async def test_what_was_accepted_after_a_change_is_never_sent_as_before_it(resent: bool) -> None:  # noqa: FBT001  a case
    between = Between(Deaf)
    async with virtual_service(through=between) as service:
        endpoint = await service.add_endpoint("old.example")
        (first,) = await service.add()
        await service.until_delivered(endpoint, within=5)
        await service.add(deliver_at=service.now() + HOUR)  # so that the lane stays
        await asyncio.sleep(5)
        lane = the_lane(service)
        between.shaky.hears.clear()
        await asyncio.sleep(5)
        await service.move(endpoint, "https://new.example/in")
        if resent:
            await service.store.resend(endpoint, first, resend="resend_1")
        else:
            await service.add()
        lane.backlog.buffer.rewind()
        lane.pump()  # it asks for rows, and nobody has told it of the change
        await asyncio.sleep(5)
        assert [sent.host for sent in service.sender.sent] == ["old.example"]
        between.shaky.hears.set()
        await asyncio.sleep(1)
        assert [sent.host for sent in service.sender.sent] == ["old.example", "new.example"]


@virtually
async def test_a_lane_that_sees_a_change_by_itself_is_taken_up_without_being_told() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("old.example")
        await service.add(deliver_at=service.now() + HOUR)  # so that the lane stays
        await asyncio.sleep(5)
        lane = the_lane(service)
        moved = replace(endpoint, url="https://new.example/in", updated_at=service.now())
        await service.store.put(moved)
        await service.add()
        # As if somebody had heard of it and was lost before it was taken up.
        await service.store.woken(service.dispatcher.shards.leases())
        lane.backlog.buffer.rewind()
        lane.pump()
        await asyncio.sleep(1)
        assert [sent.host for sent in service.sender.sent] == ["new.example"]


@virtually
async def test_a_paused_endpoint_gets_nothing_that_was_accepted_after_the_pause() -> None:
    between = Between(Deaf)
    async with virtual_service(through=between) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(deliver_at=service.now() + HOUR)
        await asyncio.sleep(5)
        lane = the_lane(service)
        between.shaky.hears.clear()
        await asyncio.sleep(5)
        await service.store.change(
            Endpoints(endpoint.application),
            endpoint.id,
            lambda now: now.stand(Standing.PAUSED, service.now()),
        )
        await service.add()
        lane.backlog.buffer.rewind()
        lane.pump()
        await asyncio.sleep(5)
        between.shaky.hears.set()
        await asyncio.sleep(5)
        assert service.sender.sent == []


class Forgetful(Shaky):
    """A store that may have lost the endpoint of every lane."""

    has_lost = False
    fetched = 0

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        return [] if self.has_lost else await self._store.lanes(lanes)

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        self.fetched += 1
        return await self._store.fetch(wants, now=now, most_bytes=most_bytes)


@virtually
async def test_a_lane_that_the_store_does_not_know_any_more_is_let_go() -> None:
    between = Between(Forgetful)
    async with virtual_service(limits=Limits(watch=600), through=between) as service:
        await service.add_endpoint("a.example")
        await service.add(deliver_at=service.now() + HOUR)  # so that the lane stays
        await asyncio.sleep(1)
        lane = the_lane(service)
        between.shaky.has_lost = True
        await service.dispatcher.loader.load([lane.number])
        assert lane.has_left
        assert list(service.dispatcher.shards.lanes()) == []
        before = between.shaky.fetched
        await asyncio.sleep(30)
        assert between.shaky.fetched == before, "nobody asks for it"


@virtually
async def test_an_endpoint_that_was_paused_for_a_moment_gets_its_backlog_at_a_pace() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", rate=1.0)
        await service.add(20)
        await asyncio.sleep(1.1)
        lane = the_lane(service)
        assert lane.gates.phase is Phase.CLOSED
        await service.change(endpoint, standing=Standing.PAUSED)
        await asyncio.sleep(0.1)
        await service.change(endpoint, standing=Standing.ENABLED, rate=None)
        await asyncio.sleep(0.1)
        assert the_lane(service) is lane, "it was in memory all the time"
        assert Phase(lane.gates.phase) is Phase.PACED


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://b.example/in", "https://b.example:443"),
        ("https://a.example/other", "https://a.example:443"),
    ],
)
@virtually
async def test_a_lane_changes_its_origin_only_if_its_endpoint_moves_to_another(
    url: str, origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with virtual_service() as service:
        lane = await a_lane(service)
        (endpoint,) = [row.endpoint for row in await service.store.lanes([lane.number])]
        moves: list[str] = []
        move = Lane.move

        def noted(lane: Lane, group: Origin) -> None:
            moves.append(group.place)
            move(lane, group)

        monkeypatch.setattr(Lane, "move", noted)
        before = lane.gates.group.place
        await service.move(endpoint, url)
        await asyncio.sleep(2)
        assert (lane.endpoint.url, lane.gates.group.place) == (url, origin)
        assert moves == ([] if origin == before else [origin])


class Lists(Shaky):
    """A store that takes 0.1 s for each call, and notes which lanes are read together."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, latency=lambda: 0.1)
        self.loaded: list[list[int]] = []

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        self.loaded.append(list(lanes))
        await asyncio.sleep(0.1)
        return await self._store.lanes(lanes)


SELDOM = Limits(lease=600, look=300, keep_up=600)
"""So seldom that lanes are loaded only because of what a test does."""


@virtually
async def test_a_lane_that_is_woken_is_loaded_before_the_rest_of_a_long_list() -> None:
    between = Between(Lists)
    async with virtual_service(limits=SELDOM, through=between) as service:
        endpoint = await service.add_endpoint("a.example")
        await asyncio.sleep(5)
        between.shaky.loaded.clear()
        listed = range(10_000, 10_000 + 2 * loader.LOADED_TOGETHER + 50)
        service.dispatcher.work.load(listed)
        await asyncio.sleep(0.15)  # the first of them are being read
        await service.add()
        await service.until_delivered(endpoint, within=5)
        assert service.dispatcher.work.to_load
        await asyncio.sleep(5)
        loaded = between.shaky.loaded
        assert [endpoint.lane] in loaded[1:3]
        rest = [number for some in loaded if some != [endpoint.lane] for number in some]
        assert rest == list(listed)
        assert not service.dispatcher.loader.is_busy


@virtually
async def test_to_load_one_lane_does_not_load_the_list() -> None:
    between = Between(Lists)
    async with virtual_service(limits=SELDOM, through=between) as service:
        await asyncio.sleep(5)
        between.shaky.loaded.clear()
        work = service.dispatcher.work
        work.add_to_load(range(10_000, 10_250))
        await service.dispatcher.loader.load([7])
        assert (between.shaky.loaded, len(work.to_load)) == ([[7]], 250)
