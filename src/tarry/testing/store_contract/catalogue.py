"""The catalogue: environments, applications and policies are stored as given."""

import asyncio

import pytest
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tarry.service.model.listing import Cut
from tarry.service.model.task import discarding
from tarry.service.store.contract import Store
from tarry.service.store.kinds import (
    Applications,
    Endpoints,
    Environment,
    Environments,
    Messages,
    PolicyVersion,
    PolicyVersions,
)
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
    """Saved values are found, missing ones raise NotFound, and a taken uid raises Conflict."""

    async def test_environments_are_there_with_their_policies(self, store: Store) -> None:
        assert [environment.id for environment in await store.read(Environments())] == []
        await store.put(Environment("org_b", '{"attempts": 3}'))
        await store.put(Environment("org_a"))
        assert sorted([environment.id for environment in await store.read(Environments())]) == [
            "org_a",
            "org_b",
        ]
        assert (await store.get(Environments(), "org_b")).policy == '{"attempts": 3}'
        assert (await store.get(Environments(), "org_a")).policy is None
        await store.put(Environment("org_b"))
        assert (await store.get(Environments(), "org_b")).policy is None
        assert sorted([environment.id for environment in await store.read(Environments())]) == [
            "org_a",
            "org_b",
        ]

    async def test_an_environment_that_exists_is_not_created_again(self, store: Store) -> None:
        await store.create(Environment("org_a"))
        assert [environment.id for environment in await store.read(Environments())] == ["org_a"]
        await store.put(Environment("org_a", '{"attempts": 3}'))
        await store.create(Environment("org_a"))
        assert [environment.id for environment in await store.read(Environments())] == ["org_a"]
        assert (await store.get(Environments(), "org_a")).policy == '{"attempts": 3}'

    async def test_an_application_is_kept_as_it_was_put(self, scene: Scene) -> None:
        plain = an_application()
        complete = an_application(
            name=TEXT,
            uid=TEXT,
            rate=12.5,
            policy='{"attempts": 3}',
            most_waiting=1_000_000,
            metadata={"a": TEXT, TEXT: ""},
            created_at=NOON + 0.125,
            updated_at=NOON + 0.25,
        )
        for application in (plain, complete, replace(complete, name="new", metadata={}, rate=None)):
            await scene.store.put(application)
            assert await scene.store.get(Applications(ENVIRONMENT), application.id) == application
        assert (await scene.store.get(Applications(ENVIRONMENT), TEXT)).id == complete.id

    async def test_an_application_is_one_environment_s_own(self, scene: Scene) -> None:
        await scene.store.put(replace(scene.application, uid="acme"))
        for known_as in (scene.application.id, "acme"):
            with pytest.raises(NotFound) as caught:
                await scene.store.get(Applications("org_other"), known_as)
            assert (caught.value.kind, caught.value.id) == ("application", known_as)

    async def test_an_application_of_another_environment_cannot_be_changed_or_deleted(
        self, scene: Scene
    ) -> None:
        application_id, foreign_kind = scene.application.id, Applications("org_other")
        with pytest.raises(NotFound):
            await scene.store.change(
                foreign_kind, application_id, lambda stored: replace(stored, name="x")
            )
        with pytest.raises(NotFound):
            await scene.store.delete(foreign_kind, application_id, now=NOON)
        assert await scene.store.get(Applications(ENVIRONMENT), application_id) == scene.application
        stored = await scene.store.get(Endpoints(application_id), scene.endpoint.id)
        assert stored == scene.endpoint

    async def test_a_uid_of_an_application_is_given_once_in_an_environment(
        self, scene: Scene
    ) -> None:
        first = an_application(uid="acme")
        await scene.store.put(first)
        await scene.store.put(first)
        with pytest.raises(Conflict) as caught:
            await scene.store.put(an_application(uid="acme"))
        assert (caught.value.kind, caught.value.key) == ("application", "acme")
        with pytest.raises(Conflict):
            await scene.store.put(replace(scene.application, uid="acme"))
        stored = await scene.store.get(Applications(ENVIRONMENT), scene.application.id)
        assert stored == scene.application
        with pytest.raises(Conflict):
            await scene.store.change(
                Applications(scene.application.environment),
                scene.application.id,
                lambda stored: replace(stored, uid="acme"),
            )
        await scene.store.put(Environment("org_other"))
        await scene.store.put(an_application(environment="org_other", uid="acme"))

    async def test_an_id_has_precedence_over_an_equal_uid(self, scene: Scene) -> None:
        store, application, endpoint = scene.store, scene.application, scene.endpoint
        await store.put(an_application(uid=application.id))
        assert await store.get(Applications(ENVIRONMENT), application.id) == application
        await store.put(an_endpoint(application, uid=endpoint.id))
        assert await store.get(Endpoints(application.id), endpoint.id) == endpoint
        message = await scene.add()
        await scene.add(event_id=message.id)
        assert await store.get(Messages(application.id), message.id) == message

    async def test_a_deleted_application_is_not_found_and_its_uid_is_free(
        self, scene: Scene
    ) -> None:
        application = replace(scene.application, uid="acme")
        await scene.store.put(application)
        before = await scene.add_endpoint()
        await scene.delete_endpoint(before)
        changed = await scene.row(before)
        delete_tasks = await scene.store.delete(
            Applications(application.environment), application.id, now=NOON + 5
        )
        deleted = scene.endpoint.stand(Standing.DELETED, NOON + 5)
        assert delete_tasks == [discarding(deleted, ENVIRONMENT)], (
            "a task for each endpoint that was not deleted before"
        )
        assert await scene.row(before) == changed
        assert (await scene.row()).endpoint == deleted
        for known_as in (application.id, "acme"):
            with pytest.raises(NotFound):
                await scene.store.get(Applications(ENVIRONMENT), known_as)
        assert (await scene.store.page(Applications(ENVIRONMENT), Cut())).entries == []
        with pytest.raises(NotFound):
            await scene.store.get(Endpoints(application.id), scene.endpoint.id)
        with pytest.raises(NotFound):
            await scene.store.put(an_endpoint(application))
        with pytest.raises(NotFound):
            await scene.store.put(application)
        with pytest.raises(NotFound):
            await scene.store.delete(
                Applications(application.environment), application.id, now=NOON
            )
        await scene.store.put(an_application(uid="acme"))

    async def test_the_states_of_a_lane_are_counted(self, scene: Scene) -> None:
        await scene.store.add([new_message(scene.application) for _ in range(5)])
        first, second, third, *_ = await scene.due()
        await scene.settle(delivered(first), failed(second), postponed(third, NOON))
        counts = await scene.store.counts(scene.lane)
        assert {state: count for state, count in counts.items() if count} == {
            State.DELIVERED: 1,
            State.FAILED: 1,
            State.WAITING: 1,
            State.READY: 2,
        }

    async def test_a_message_is_one_application_s_own(self, scene: Scene) -> None:
        message = await scene.add(event_id="evt-1")
        assert await scene.store.get(Messages(scene.application.id), "evt-1") == message
        for known_as in (message.id, "evt-1"):
            with pytest.raises(NotFound) as caught:
                await scene.store.get(Messages("app_other"), known_as)
            assert (caught.value.kind, caught.value.id) == ("message", known_as)

    async def test_cancelling_ends_the_live_deliveries_of_a_message(self, scene: Scene) -> None:
        second, third = await scene.add_endpoint(), await scene.add_endpoint()
        message, other = await scene.add(), await scene.add()
        (due, _), (late, _) = await scene.due(), await scene.due(lane=second.lane)
        await scene.settle(delivered(due), postponed(late, NOON + 9))
        assert await scene.store.cancel(scene.application.id, message.id, now=NOON + 1) == 2
        states = [
            (await scene.delivery(message, receiver)).state
            for receiver in (scene.endpoint, second, third)
        ]
        assert states == [State.DELIVERED, State.CANCELLED, State.CANCELLED]
        delivery = await scene.delivery(message, second)
        assert (delivery.due_at, delivery.ended_at, delivery.tries) == (None, NOON + 1, 1)
        assert (await scene.delivery(other)).state is State.READY
        assert await scene.store.cancel(scene.application.id, message.id, now=NOON + 2) == 0
        with pytest.raises(NotFound):
            await scene.store.cancel("app_other", other.id, now=NOON)

    async def test_policies_are_kept_by_version(self, scene: Scene) -> None:
        await scene.store.put(PolicyVersion("v1", '{"attempts": 3}'))
        await scene.store.put(PolicyVersion("v1", '{"attempts": 3}'))
        assert (await scene.store.get(PolicyVersions(), "v1")).document == '{"attempts": 3}'
        with pytest.raises(NotFound) as caught:
            await scene.store.get(PolicyVersions(), "v2")
        assert (caught.value.kind, caught.value.id) == ("policy", "v2")

    async def test_the_records_of_origins_are_saved(self, scene: Scene) -> None:
        a, b = "https://a.example", "https://b.example"
        assert await scene.store.origins([a, b]) == [b"", b""]
        assert await scene.store.origins([]) == []
        assert await scene.store.learn({a: b"\x00\xff", b: b"b"}) == {}
        await scene.store.learn({b: b"new"})
        assert await scene.store.learn({}) == {}
        assert await scene.store.origins([a, "https://c.example", b]) == [b"\x00\xff", b"", b"new"]
        assert await scene.store.origins([b]) == [b"new"]

    async def test_the_record_of_an_origin_is_replaced_only_if_it_is_as_expected(
        self, scene: Scene
    ) -> None:
        learn, names = scene.store.learn, [f"https://{letter}.example" for letter in "abcd"]
        a, b, c, d = names
        assert await learn({a: b"a0"}, expected={a: b""}) == {}
        await learn({b: b"b0", c: b"c0"})
        conflicts = await learn(
            dict.fromkeys(names, b"new"),
            expected={a: b"a0", b: b"other", d: b"gone"},
        )
        assert conflicts == {b: b"b0"}
        assert await scene.store.origins(names) == [b"new", b"b0", b"new", b"new"]
        assert await learn({a: b"late"}, expected={a: b""}) == {a: b"new"}

    async def test_of_two_workers_that_replace_the_same_record_one_succeeds(
        self, scene: Scene
    ) -> None:
        name = "https://a.example"
        await scene.store.learn({name: b"old"})
        for _ in range(10):
            before = (await scene.store.origins([name]))[0]
            texts = [before + letter for letter in (b"x", b"y", b"z")]
            answers = await asyncio.gather(
                *(scene.store.learn({name: text}, expected={name: before}) for text in texts)
            )
            won = [text for text, conflicts in zip(texts, answers, strict=True) if not conflicts]
            assert await scene.store.origins([name]) == won
            assert [conflicts for conflicts in answers if conflicts] == [{name: won[0]}] * 2

    async def test_a_store_that_works_says_so(self, scene: Scene) -> None:
        await scene.store.check()
