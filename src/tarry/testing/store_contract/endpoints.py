"""Endpoints: they are saved, changed from their stored state, and deleted permanently."""

import asyncio

import pytest
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound, SettingsError, TooManyEndpoints
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint, Secret, Standing
from tarry.service.model.lane import Change, Known, LaneRow, first_version
from tarry.service.model.listing import Cut
from tarry.service.model.task import discarding
from tarry.service.store.kinds import (
    AllDeliveriesOf,
    Endpoints,
    Environment,
    Lanes,
    SealedEndpoints,
    Tasks,
)
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    an_application,
    an_endpoint,
)
from tarry.testing.store_contract.catalogue import TEXT
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic


class EndpointsContract(Topic):
    """Endpoints and their lanes."""

    async def test_an_application_has_at_most_as_many_endpoints_as_it_may(
        self, scene: Scene
    ) -> None:
        store, name = scene.store, scene.application.id
        second = await store.put(an_endpoint(scene.application), most=2)
        with pytest.raises(TooManyEndpoints) as caught:
            await store.put(an_endpoint(scene.application), most=2)
        assert (caught.value.application, caught.value.allowed) == (name, 2)
        page = await store.page(Endpoints(name), Cut(limit=10))
        assert [stored.id for stored in page.entries] == sorted([scene.endpoint.id, second.id])
        await store.put(replace(second, description="changed"), most=2)  # it is not new
        await store.put(an_endpoint(scene.application))  # without a limit
        await scene.delete_endpoint()
        await scene.delete_endpoint(second)
        await store.put(an_endpoint(scene.application), most=2)
        other = an_application()
        await store.put(other)
        await store.put(an_endpoint(other), most=1)

    async def test_endpoints_created_at_a_time_are_counted_one_after_another(
        self, scene: Scene
    ) -> None:
        puts = (scene.store.put(an_endpoint(scene.application), most=4) for _ in range(10))
        answers = await asyncio.gather(*puts, return_exceptions=True)
        refused = [answer for answer in answers if isinstance(answer, TooManyEndpoints)]
        assert len(refused) == 7
        page = await scene.store.page(Endpoints(scene.application.id), Cut(limit=20))
        assert len(page.entries) == 4

    async def test_an_endpoint_is_kept_as_it_was_put(self, scene: Scene) -> None:
        complete = an_endpoint(
            scene.application,
            url="https://hooks.example/ü?a=1",
            uid=TEXT,
            description=TEXT,
            event_types=("a", "b,c", ""),
            channels=(),
            rate=0.5,
            concurrency=3,
            fifo=True,
            blocking=True,
            policy='{"attempts": 3}',
            headers=b"\x00\xff",
            secrets=(Secret(b"\x00\x01"), Secret(b"old", NOON + 0.5)),
            metadata={"a": TEXT},
            standing=Standing.PARKED,
            parked=((NOON - 9.5, NOON - 5.25), (NOON, None)),
            probed_at=NOON + 0.0625,
            created_at=NOON + 0.125,
            updated_at=NOON + 0.25,
        )
        saved = await scene.store.put(complete)
        assert saved == replace(complete, lane=saved.lane)
        assert saved.lane not in {0, scene.lane}
        for known_as in (complete.id, TEXT):
            assert await scene.store.get(Endpoints(scene.application.id), known_as) == saved
        assert (await scene.store.lanes([saved.lane]))[0].endpoint == saved

    async def test_an_endpoint_that_is_changed_keeps_its_lane(self, scene: Scene) -> None:
        await scene.add()
        changed = replace(scene.endpoint, url="https://new.example/", lane=0)
        saved = await scene.store.put(changed)
        assert saved == replace(changed, lane=scene.lane)
        row = await scene.row()
        assert (row.endpoint, row.waiting) == (saved, 1)

    async def test_a_uid_of_an_endpoint_is_given_once_in_an_application(self, scene: Scene) -> None:
        first = await scene.add_endpoint(uid="main")
        assert await scene.store.put(first) == first
        with pytest.raises(Conflict) as caught:
            await scene.store.put(an_endpoint(scene.application, uid="main"))
        assert (caught.value.kind, caught.value.key) == ("endpoint", "main")
        with pytest.raises(Conflict):
            await scene.store.put(replace(scene.endpoint, uid="main"))
        assert (
            await scene.store.get(Endpoints(scene.application.id), scene.endpoint.id)
            == scene.endpoint
        )
        other = an_application()
        await scene.store.put(other)
        await scene.store.put(an_endpoint(other, uid="main"))

    async def test_an_endpoint_is_one_application_s_own(self, scene: Scene) -> None:
        other = an_application()
        await scene.store.put(other)
        with pytest.raises(NotFound) as caught:
            await scene.store.get(Endpoints(other.id), scene.endpoint.id)
        assert (caught.value.kind, caught.value.id) == ("endpoint", scene.endpoint.id)
        with pytest.raises(NotFound):
            await scene.store.get(Lanes(other.id), scene.endpoint.id)
        with pytest.raises(NotFound):
            await scene.store.get(Lanes(scene.application.id), "ep_none")

    async def test_an_endpoint_needs_its_application(self, scene: Scene) -> None:
        with pytest.raises(NotFound) as caught:
            await scene.store.put(an_endpoint("app_none"))
        assert (caught.value.kind, caught.value.id) == ("application", "app_none")

    async def test_a_deleted_endpoint_is_not_found_and_keeps_its_deliveries(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        await scene.store.put(replace(scene.endpoint, uid="main"))
        task = await scene.delete_endpoint()
        deleted_endpoint = (await scene.row()).endpoint
        assert (deleted_endpoint.standing, deleted_endpoint.updated_at) == (Standing.DELETED, NOON)
        assert (
            await scene.store.get(Tasks(ENVIRONMENT), task.id)
            == task
            == discarding(deleted_endpoint, ENVIRONMENT)
        )
        for known_as in (deleted_endpoint.id, "main"):
            with pytest.raises(NotFound):
                await scene.store.get(Endpoints(scene.application.id), known_as)
        assert (await scene.store.page(Endpoints(scene.application.id), Cut())).entries == []
        assert await scene.row() == LaneRow(
            endpoint=deleted_endpoint,
            application=scene.application,
            known=Known(),
            added=1,
            ended=0,
            version=first_version(deleted_endpoint) + 3,
        )
        deliveries = await scene.store.read(AllDeliveriesOf(message.id))
        assert [(receiver, delivery.state) for receiver, delivery in deliveries] == [
            (deleted_endpoint, State.READY)
        ]

    async def test_a_lane_has_the_policy_of_its_environment(self, scene: Scene) -> None:
        assert (await scene.row()).policy is None
        await scene.store.put(Environment(ENVIRONMENT, "{}"))
        await scene.store.put(Environment("org_other", "[]"))
        assert (await scene.row()).policy == "{}"
        (row,) = await scene.store.lanes([scene.lane])
        assert row.policy == "{}"

    async def test_an_endpoint_is_changed_as_it_is_by_now(self, scene: Scene) -> None:
        store, application = scene.store, scene.application.id
        await store.put(replace(scene.endpoint, url="https://new.example"))
        change = Change(
            lane=scene.lane, epoch=scene.lease.epoch, at=NOON + 1, standing=Standing.PARKED
        )
        await scene.settle(changes=[change])
        changed = await store.change(
            Endpoints(application),
            scene.endpoint.id,
            lambda now: replace(now, rate=5.0, updated_at=NOON + 2),
        )
        assert changed == await store.get(Endpoints(application), scene.endpoint.id)
        assert (changed.url, changed.rate, changed.lane) == ("https://new.example", 5.0, scene.lane)
        assert (changed.standing, changed.parked) == (Standing.PARKED, ((NOON + 1, None),))
        assert await store.woken(scene.leases) == [scene.lane]

    async def test_a_change_that_is_refused_changes_nothing(self, scene: Scene) -> None:
        store, application = scene.store, scene.application.id
        await scene.add_endpoint(uid="main")

        def refuse(_: Endpoint) -> Endpoint:
            raise SettingsError("url", "x", "another")

        with pytest.raises(SettingsError):
            await store.change(Endpoints(application), scene.endpoint.id, refuse)
        with pytest.raises(Conflict):
            await store.change(
                Endpoints(application), scene.endpoint.id, lambda now: replace(now, uid="main")
            )
        assert (await scene.row()).endpoint == scene.endpoint

    async def test_an_endpoint_that_does_not_exist_cannot_be_changed(self, scene: Scene) -> None:
        store = scene.store
        other = an_application()
        await store.put(other)
        named = [(other.id, scene.endpoint.id), (scene.application.id, "ep_none")]
        deleted_endpoint = await scene.add_endpoint()
        await scene.delete_endpoint(deleted_endpoint)
        for application, endpoint in [*named, (scene.application.id, deleted_endpoint.id)]:
            with pytest.raises(NotFound) as caught:
                await store.change(Endpoints(application), endpoint, lambda now: now)
            assert (caught.value.kind, caught.value.id) == ("endpoint", endpoint)
            with pytest.raises(NotFound):
                await store.delete(Endpoints(application), endpoint, now=NOON)

    async def test_a_deleted_endpoint_has_no_secrets_any_more(self, scene: Scene) -> None:
        signed = await scene.add_endpoint(secrets=(Secret(b"x"),), headers=b"x")
        await scene.delete_endpoint(signed)
        deleted_endpoint = (await scene.row(signed)).endpoint
        assert (deleted_endpoint.secrets, deleted_endpoint.headers) == ((), None)

    async def test_a_deleted_endpoint_is_not_brought_back_and_its_uid_is_free(
        self, scene: Scene
    ) -> None:
        first = await scene.add_endpoint(uid="main")
        await scene.delete_endpoint(first)
        with pytest.raises(NotFound):
            await scene.store.put(first)
        second = await scene.add_endpoint(uid="main")
        assert await scene.store.get(Endpoints(scene.application.id), "main") == second

    async def test_a_lane_is_read_with_its_endpoint_and_application(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        rows = await scene.store.lanes([second.lane, scene.lane + 1000, scene.lane])
        assert {row.lane: row for row in rows} == {
            lane: LaneRow(
                endpoint=endpoint,
                application=scene.application,
                version=first_version(endpoint) + 1,
            )
            for lane, endpoint in ((scene.lane, scene.endpoint), (second.lane, second))
        }
        changed = replace(scene.application, rate=3.0)
        await scene.store.put(changed)
        assert (await scene.row()).application == changed

    async def test_endpoints_with_something_sealed_are_found(self, scene: Scene) -> None:
        signed = await scene.add_endpoint(secrets=(Secret(b"x"),))
        headed = await scene.add_endpoint(headers=b"x")
        deleted_endpoint = await scene.add_endpoint(headers=b"x")
        await scene.delete_endpoint(deleted_endpoint)
        assert await scene.store.read(SealedEndpoints()) == [signed, headed]
        assert await scene.store.read(SealedEndpoints(limit=1)) == [signed]
        assert await scene.store.read(SealedEndpoints(after=signed.id)) == [headed]
