# ruff: noqa: D102, PLR2004, S101  these are tests: a name is a sentence, a number the example
"""The catalogue: environments, applications, endpoints and policies, as they were put."""

import pytest
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound, SettingsError
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint, Secret, Standing
from tarry.service.model.lane import Change, Known, LaneRow
from tarry.service.model.listing import Cut
from tarry.service.model.task import discarding
from tarry.service.store.contract import Store
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    an_application,
    an_endpoint,
    delivered,
    failed,
    new_message,
    postponed,
)
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic

TEXT = "Bären & Söhne 'GmbH' %s \\ \U0001f40c\n"


class CatalogueContract(Topic):
    """What is put is found, what is not there is told, what is taken is refused."""

    async def test_environments_are_there_with_their_policies(self, store: Store) -> None:
        assert await store.environments() == []
        await store.put_environment("org_b", policy='{"attempts": 3}')
        await store.put_environment("org_a")
        assert sorted(await store.environments()) == ["org_a", "org_b"]
        assert await store.environment_policy("org_b") == '{"attempts": 3}'
        assert await store.environment_policy("org_a") is None
        await store.put_environment("org_b")
        assert await store.environment_policy("org_b") is None
        assert sorted(await store.environments()) == ["org_a", "org_b"]

    async def test_an_application_is_kept_as_it_was_put(self, scene: Scene) -> None:
        plain = an_application()
        full = an_application(
            name=TEXT,
            uid=TEXT,
            rate=12.5,
            policy='{"attempts": 3}',
            most_waiting=1_000_000,
            metadata={"a": TEXT, TEXT: ""},
            created_at=NOON + 0.125,
            updated_at=NOON + 0.25,
        )
        for application in (plain, full, replace(full, name="new", metadata={}, rate=None)):
            await scene.store.put_application(application)
            assert await scene.store.application(ENVIRONMENT, application.id) == application
        assert (await scene.store.application(ENVIRONMENT, TEXT)).id == full.id

    async def test_an_application_is_one_environment_s_own(self, scene: Scene) -> None:
        await scene.store.put_application(replace(scene.application, uid="acme"))
        for known_as in (scene.application.id, "acme"):
            with pytest.raises(NotFound) as caught:
                await scene.store.application("org_other", known_as)
            assert (caught.value.kind, caught.value.id) == ("application", known_as)

    async def test_a_uid_of_an_application_is_given_once_in_an_environment(
        self, scene: Scene
    ) -> None:
        first = an_application(uid="acme")
        await scene.store.put_application(first)
        await scene.store.put_application(first)
        with pytest.raises(Conflict) as caught:
            await scene.store.put_application(an_application(uid="acme"))
        assert (caught.value.kind, caught.value.key) == ("application", "acme")
        with pytest.raises(Conflict):
            await scene.store.put_application(replace(scene.application, uid="acme"))
        found = await scene.store.application(ENVIRONMENT, scene.application.id)
        assert found == scene.application
        with pytest.raises(Conflict):
            await scene.store.change_application(
                scene.application.id, lambda stored: replace(stored, uid="acme")
            )
        await scene.store.put_environment("org_other")
        await scene.store.put_application(an_application(environment="org_other", uid="acme"))

    async def test_an_id_goes_before_a_uid_that_looks_like_it(self, scene: Scene) -> None:
        store, application, endpoint = scene.store, scene.application, scene.endpoint
        await store.put_application(an_application(uid=application.id))
        assert await store.application(ENVIRONMENT, application.id) == application
        await store.put_endpoint(an_endpoint(application, uid=endpoint.id))
        assert await store.endpoint(application.id, endpoint.id) == endpoint
        message = await scene.add()
        await scene.add(event_id=message.id)
        assert await store.message(application.id, message.id) == message

    async def test_an_endpoint_is_kept_as_it_was_put(self, scene: Scene) -> None:
        full = an_endpoint(
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
        put = await scene.store.put_endpoint(full)
        assert put == replace(full, lane=put.lane)
        assert put.lane not in {0, scene.lane}
        for known_as in (full.id, TEXT):
            assert await scene.store.endpoint(scene.application.id, known_as) == put
        assert (await scene.store.lanes([put.lane]))[0].endpoint == put

    async def test_an_endpoint_that_is_changed_keeps_its_lane(self, scene: Scene) -> None:
        await scene.add()
        changed = replace(scene.endpoint, url="https://new.example/", lane=0)
        put = await scene.store.put_endpoint(changed)
        assert put == replace(changed, lane=scene.lane)
        row = await scene.row()
        assert (row.endpoint, row.waiting) == (put, 1)

    async def test_a_uid_of_an_endpoint_is_given_once_in_an_application(self, scene: Scene) -> None:
        first = await scene.add_endpoint(uid="main")
        assert await scene.store.put_endpoint(first) == first
        with pytest.raises(Conflict) as caught:
            await scene.store.put_endpoint(an_endpoint(scene.application, uid="main"))
        assert (caught.value.kind, caught.value.key) == ("endpoint", "main")
        with pytest.raises(Conflict):
            await scene.store.put_endpoint(replace(scene.endpoint, uid="main"))
        assert await scene.store.endpoint(scene.application.id, scene.endpoint.id) == scene.endpoint
        other = an_application()
        await scene.store.put_application(other)
        await scene.store.put_endpoint(an_endpoint(other, uid="main"))

    async def test_an_endpoint_is_one_application_s_own(self, scene: Scene) -> None:
        other = an_application()
        await scene.store.put_application(other)
        with pytest.raises(NotFound) as caught:
            await scene.store.endpoint(other.id, scene.endpoint.id)
        assert (caught.value.kind, caught.value.id) == ("endpoint", scene.endpoint.id)
        with pytest.raises(NotFound):
            await scene.store.lane(other.id, scene.endpoint.id)
        with pytest.raises(NotFound):
            await scene.store.lane(scene.application.id, "ep_none")

    async def test_an_endpoint_needs_its_application(self, scene: Scene) -> None:
        with pytest.raises(NotFound) as caught:
            await scene.store.put_endpoint(an_endpoint("app_none"))
        assert (caught.value.kind, caught.value.id) == ("application", "app_none")

    async def test_a_deleted_endpoint_is_not_found_and_keeps_what_waits(self, scene: Scene) -> None:
        message = await scene.add()
        await scene.store.put_endpoint(replace(scene.endpoint, uid="main"))
        task = await scene.delete_endpoint()
        gone = (await scene.row()).endpoint
        assert (gone.standing, gone.updated_at) == (Standing.DELETED, NOON)
        assert await scene.store.get_task(task.id) == task == discarding(gone, ENVIRONMENT)
        for known_as in (gone.id, "main"):
            with pytest.raises(NotFound):
                await scene.store.endpoint(scene.application.id, known_as)
        assert await scene.store.list_endpoints(scene.application.id, Cut()) == []
        assert await scene.row() == LaneRow(
            endpoint=gone,
            application=scene.application,
            known=Known(),
            added=1,
            ended=0,
            version=3,
        )
        found = await scene.store.deliveries(message.id)
        assert [(to, one.state) for to, one in found] == [(gone, State.READY)]

    async def test_an_endpoint_is_changed_as_it_is_by_now(self, scene: Scene) -> None:
        store, application = scene.store, scene.application.id
        await store.put_endpoint(replace(scene.endpoint, url="https://new.example"))
        change = Change(lane=scene.lane, at=NOON + 1, standing=Standing.PARKED)
        await scene.settle(changes=[change])
        changed = await store.change_endpoint(
            application, scene.endpoint.id, lambda now: replace(now, rate=5.0, updated_at=NOON + 2)
        )
        assert changed == await store.endpoint(application, scene.endpoint.id)
        assert (changed.url, changed.rate, changed.lane) == ("https://new.example", 5.0, scene.lane)
        assert (changed.standing, changed.parked) == (Standing.PARKED, ((NOON + 1, None),))
        assert await store.woken(scene.leases) == [scene.lane]

    async def test_a_change_that_is_refused_changes_nothing(self, scene: Scene) -> None:
        store, application = scene.store, scene.application.id
        await scene.add_endpoint(uid="main")

        def refuse(_: Endpoint) -> Endpoint:
            raise SettingsError("url", "x", "another")

        with pytest.raises(SettingsError):
            await store.change_endpoint(application, scene.endpoint.id, refuse)
        with pytest.raises(Conflict):
            await store.change_endpoint(
                application, scene.endpoint.id, lambda now: replace(now, uid="main")
            )
        assert (await scene.row()).endpoint == scene.endpoint

    async def test_what_is_not_there_cannot_be_changed(self, scene: Scene) -> None:
        store = scene.store
        other = an_application()
        await store.put_application(other)
        named = [(other.id, scene.endpoint.id), (scene.application.id, "ep_none")]
        gone = await scene.add_endpoint()
        await scene.delete_endpoint(gone)
        for application, endpoint in [*named, (scene.application.id, gone.id)]:
            with pytest.raises(NotFound) as caught:
                await store.change_endpoint(application, endpoint, lambda now: now)
            assert (caught.value.kind, caught.value.id) == ("endpoint", endpoint)
            with pytest.raises(NotFound):
                await store.delete_endpoint(application, endpoint, now=NOON)

    async def test_a_deleted_endpoint_has_no_secrets_any_more(self, scene: Scene) -> None:
        signed = await scene.add_endpoint(secrets=(Secret(b"x"),), headers=b"x")
        await scene.delete_endpoint(signed)
        gone = (await scene.row(signed)).endpoint
        assert (gone.secrets, gone.headers) == ((), None)

    async def test_a_deleted_endpoint_is_not_brought_back_and_its_uid_is_free(
        self, scene: Scene
    ) -> None:
        first = await scene.add_endpoint(uid="main")
        await scene.delete_endpoint(first)
        with pytest.raises(NotFound):
            await scene.store.put_endpoint(first)
        second = await scene.add_endpoint(uid="main")
        assert await scene.store.endpoint(scene.application.id, "main") == second

    async def test_a_deleted_application_is_not_found_and_its_uid_is_free(
        self, scene: Scene
    ) -> None:
        application = replace(scene.application, uid="acme")
        await scene.store.put_application(application)
        before = await scene.add_endpoint()
        await scene.delete_endpoint(before)
        gone = await scene.store.delete_application(application.id, now=NOON + 5)
        deleted = scene.endpoint.stand(Standing.DELETED, NOON + 5)
        assert gone == [discarding(deleted, ENVIRONMENT)], "those that were not deleted before"
        assert (await scene.row()).endpoint == deleted
        for known_as in (application.id, "acme"):
            with pytest.raises(NotFound):
                await scene.store.application(ENVIRONMENT, known_as)
        assert await scene.store.list_applications(ENVIRONMENT, Cut()) == []
        with pytest.raises(NotFound):
            await scene.store.endpoint(application.id, scene.endpoint.id)
        with pytest.raises(NotFound):
            await scene.store.put_endpoint(an_endpoint(application))
        with pytest.raises(NotFound):
            await scene.store.put_application(application)
        with pytest.raises(NotFound):
            await scene.store.delete_application(application.id, now=NOON)
        await scene.store.put_application(an_application(uid="acme"))

    async def test_a_lane_is_told_with_its_endpoint_and_application(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        rows = await scene.store.lanes([second.lane, scene.lane + 1000, scene.lane])
        assert {row.lane: row for row in rows} == {
            lane: LaneRow(endpoint=endpoint, application=scene.application)
            for lane, endpoint in ((scene.lane, scene.endpoint), (second.lane, second))
        }
        changed = replace(scene.application, rate=3.0)
        await scene.store.put_application(changed)
        assert (await scene.row()).application == changed

    async def test_the_states_of_a_lane_are_counted(self, scene: Scene) -> None:
        await scene.store.add([new_message(scene.application) for _ in range(5)])
        one, two, three, *_ = await scene.due()
        await scene.settle(delivered(one), failed(two), postponed(three, NOON))
        counts = await scene.store.counts(scene.lane)
        assert {state: count for state, count in counts.items() if count} == {
            State.DELIVERED: 1,
            State.FAILED: 1,
            State.WAITING: 1,
            State.READY: 2,
        }

    async def test_a_message_is_one_application_s_own(self, scene: Scene) -> None:
        message = await scene.add(event_id="evt-1")
        assert await scene.store.message(scene.application.id, "evt-1") == message
        for known_as in (message.id, "evt-1"):
            with pytest.raises(NotFound) as caught:
                await scene.store.message("app_other", known_as)
            assert (caught.value.kind, caught.value.id) == ("message", known_as)

    async def test_cancelling_ends_what_is_live_of_a_message(self, scene: Scene) -> None:
        second, third = await scene.add_endpoint(), await scene.add_endpoint()
        message, other = await scene.add(), await scene.add()
        (due, _), (late, _) = await scene.due(), await scene.due(lane=second.lane)
        await scene.settle(delivered(due), postponed(late, NOON + 9))
        assert await scene.store.cancel(scene.application.id, message.id, now=NOON + 1) == 2
        states = [
            (await scene.delivery(message, to)).state for to in (scene.endpoint, second, third)
        ]
        assert states == [State.DELIVERED, State.CANCELLED, State.CANCELLED]
        delivery = await scene.delivery(message, second)
        assert (delivery.due_at, delivery.ended_at, delivery.tries) == (None, NOON + 1, 1)
        assert (await scene.delivery(other)).state is State.READY
        assert await scene.store.cancel(scene.application.id, message.id, now=NOON + 2) == 0
        with pytest.raises(NotFound):
            await scene.store.cancel("app_other", other.id, now=NOON)

    async def test_policies_are_kept_by_version(self, scene: Scene) -> None:
        await scene.store.put_policy("v1", '{"attempts": 3}')
        await scene.store.put_policy("v1", '{"attempts": 3}')
        assert await scene.store.policy("v1") == '{"attempts": 3}'
        with pytest.raises(NotFound) as caught:
            await scene.store.policy("v2")
        assert (caught.value.kind, caught.value.id) == ("policy", "v2")

    async def test_what_was_learned_of_origins_is_kept(self, scene: Scene) -> None:
        assert await scene.store.origin("https://a.example") == b""
        await scene.store.learn({"https://a.example": b"\x00\xff", "https://b.example": b"b"})
        await scene.store.learn({"https://b.example": b"new"})
        await scene.store.learn({})
        assert await scene.store.origin("https://a.example") == b"\x00\xff"
        assert await scene.store.origin("https://b.example") == b"new"

    async def test_endpoints_with_something_sealed_are_found(self, scene: Scene) -> None:
        signed = await scene.add_endpoint(secrets=(Secret(b"x"),))
        headed = await scene.add_endpoint(headers=b"x")
        gone = await scene.add_endpoint(headers=b"x")
        await scene.delete_endpoint(gone)
        assert await scene.store.sealed() == [signed, headed]
        assert await scene.store.sealed(limit=1) == [signed]
        assert await scene.store.sealed(after=signed.id) == [headed]

    async def test_a_store_that_works_says_so(self, scene: Scene) -> None:
        await scene.store.check()
