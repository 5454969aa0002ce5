"""The audit trail: each change writes one entry, in its own commit."""

from collections.abc import Awaitable, Callable
from typing import NoReturn

import pytest
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound, TooManyEndpoints, TooManyReplays
from tarry.service.model.attempt import Attempt
from tarry.service.model.audit import (
    Action,
    ActorKind,
    AuditEntry,
    AuditFilter,
    FieldChange,
    Target,
)
from tarry.service.model.endpoint import Secret, Standing
from tarry.service.model.key import Scope
from tarry.service.model.lane import Change
from tarry.service.model.listing import Cut
from tarry.service.model.message import Message
from tarry.service.model.task import Work
from tarry.service.store.contract import Retention, Store
from tarry.service.store.kinds import (
    Applications,
    AttemptsOf,
    AuditTrail,
    Endpoints,
    Environment,
    EventTypes,
    Keys,
    Messages,
)
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    a_key,
    a_task,
    an_action,
    an_application,
    an_attempt,
    an_endpoint,
    an_event_type,
    put_back,
)
from tarry.testing.store_contract.pages import ALL, MILLISECOND, check_gone, check_pages
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic

SECRET = (Secret(b"sealed"),)

Refused = Callable[[Action], Awaitable[object]]


class AuditContract(Topic):
    """Who changed what."""

    async def test_what_is_set_up_changed_and_deleted_is_in_the_audit_trail(
        self, scene: Scene
    ) -> None:
        store, by = scene.store, an_action()
        application = an_application(uid="shop", most_waiting=5)
        await store.put(application, by=by)
        await _expect(
            store,
            by,
            Target(
                "application",
                application.id,
                application.id,
                (
                    FieldChange("mostWaiting", after=5),
                    FieldChange("name"),
                    FieldChange("uid"),
                ),
            ),
        )
        applications = Applications(ENVIRONMENT)
        by = an_action()
        await store.change(
            applications, application.id, lambda stored: replace(stored, rate=2.5, uid="x"), by=by
        )
        await _expect(
            store,
            by,
            Target(
                "application",
                application.id,
                application.id,
                (
                    FieldChange("throttleRate", None, 2.5),
                    FieldChange("uid"),
                ),
            ),
        )

        by, new = an_action(), an_endpoint(application, secrets=SECRET, event_types=("a",))
        await store.put(new, by=by)
        await _expect(
            store,
            by,
            Target(
                "endpoint",
                new.id,
                application.id,
                (
                    FieldChange("eventTypes"),
                    FieldChange("secrets"),
                    FieldChange("standing", after="enabled"),
                    FieldChange("url"),
                ),
            ),
        )
        endpoints, by = Endpoints(application.id), an_action()
        await store.change(
            endpoints,
            new.id,
            lambda stored: replace(stored, standing=Standing.PAUSED, secrets=(), headers=b"x"),
            by=by,
        )
        await _expect(
            store,
            by,
            Target(
                "endpoint",
                new.id,
                application.id,
                (
                    FieldChange("headers"),
                    FieldChange("secrets"),
                    FieldChange("standing", "enabled", "paused"),
                ),
            ),
        )
        by = an_action()
        await store.put(replace(new, url="https://other.example"), by=by)
        await _expect(
            store,
            by,
            Target(
                "endpoint",
                new.id,
                application.id,
                (
                    FieldChange("headers"),
                    FieldChange("secrets"),
                    FieldChange("standing", "paused", "enabled"),
                    FieldChange("url"),
                ),
            ),
        )
        by = an_action()
        await store.delete(endpoints, new.id, now=NOON, by=by)
        await _expect(store, by, Target("endpoint", new.id, application.id))
        await store.put(an_endpoint(application))
        by = an_action()
        await store.delete(applications, application.id, now=NOON, by=by)
        await _expect(store, by, Target("application", application.id, application.id))

    async def test_changes_of_the_environment_are_in_the_audit_trail(self, scene: Scene) -> None:
        store, by = scene.store, an_action()
        await store.put(Environment(ENVIRONMENT, "{}"), by=by)
        await _expect(store, by, Target("environment", ENVIRONMENT, None, (FieldChange("policy"),)))
        by, event_type = an_action(), an_event_type("order.paid", validates=True)
        await store.create(event_type, by=by)
        await _expect(
            store,
            by,
            Target(
                "event-type",
                "order.paid",
                None,
                (
                    FieldChange("description"),
                    FieldChange("name"),
                    FieldChange("validatePayload", after=True),
                ),
            ),
        )
        by, event_types = an_action(), EventTypes(ENVIRONMENT)
        await store.change(
            event_types, "order.paid", lambda stored: replace(stored, archived=True), by=by
        )
        await _expect(
            store,
            by,
            Target(
                "event-type",
                "order.paid",
                None,
                (FieldChange("archived", before=False, after=True),),
            ),
        )
        by = an_action()
        await store.delete(event_types, "order.paid", now=NOON, by=by)
        await _expect(store, by, Target("event-type", "order.paid"))
        by, key = an_action(), a_key(name="ci", scopes=(Scope.READ, Scope.SEND))
        await store.create(key, by=by)
        await _expect(
            store,
            by,
            Target(
                "key",
                key.id,
                None,
                (
                    FieldChange("name"),
                    FieldChange("scopes", after="read, send"),
                ),
            ),
        )
        by = an_action()
        await store.change(Keys(ENVIRONMENT), key.id, lambda stored: stored.revoked(NOON), by=by)
        await _expect(store, by, Target("key", key.id, None, (FieldChange("revokedAt"),)))
        for _ in range(2):
            await store.create(a_key(application=scene.application.id))
        by = an_action()
        await store.revoke_keys(scene.application.id, sessions=None, now=NOON, by=by)
        await _expect(
            store,
            by,
            Target(
                "application",
                scene.application.id,
                scene.application.id,
                (FieldChange("revokedKeys", after=2),),
            ),
        )

    async def test_what_people_do_with_messages_is_in_the_audit_trail(self, scene: Scene) -> None:
        store, application = scene.store, scene.application.id
        message, attempt = await _attempted(scene)
        by = an_action()
        await store.resend(scene.endpoint, message.id, resend="resend_1", by=by)
        to_endpoint = (FieldChange("endpoint", after=scene.endpoint.id),)
        await _expect(store, by, Target("message", message.id, application, to_endpoint))
        for act in (
            lambda by: store.cancel(application, message.id, now=NOON, by=by),
            lambda by: store.expunge(Messages(application), message.id, by=by),
        ):
            by = an_action()
            await act(by)
            await _expect(store, by, Target("message", message.id, application))
        by = an_action()
        await store.expunge(AttemptsOf(message.id), attempt.id, by=by)
        await _expect(store, by, Target("attempt", attempt.id, application))
        by, recovery = an_action(), a_task(scene.endpoint, Work.RECOVER)
        await store.add_task(recovery, most_pending=1, by=by)
        started = (FieldChange("task", after=recovery.id),)
        await _expect(store, by, Target("endpoint", scene.endpoint.id, application, started))
        by = an_action()
        purge = replace(a_task(scene.endpoint, Work.PURGE_CONTENT), endpoint="", lane=0)
        await store.add_task(purge, by=by)
        started = (FieldChange("task", after=purge.id),)
        await _expect(store, by, Target("application", application, application, started))

    async def test_a_standing_that_the_owner_of_a_lane_changes_is_in_the_audit_trail(
        self, scene: Scene
    ) -> None:
        by = an_action(actor=ActorKind.TARRY, key=None, address=None, operation="endpoint.parked")
        park = Change(
            lane=scene.lane, epoch=scene.lease.epoch, at=NOON, standing=Standing.PARKED, by=by
        )
        late = replace(park, epoch=scene.lease.epoch + 1, by=an_action())
        await scene.settle(changes=[late, park])
        standing = (FieldChange("standing", "enabled", "parked"),)
        target = Target("endpoint", scene.endpoint.id, scene.application.id, standing)
        await _expect(scene.store, by, target)
        await scene.delete_endpoint()
        await scene.settle(changes=[replace(park, by=an_action())])
        assert await _trail(scene.store) == [by.entry(target)], "a deleted endpoint does not change"

    async def test_a_change_by_nobody_is_not_in_the_audit_trail(self, scene: Scene) -> None:
        await _attempted(scene)
        await scene.delete_endpoint()
        assert await _trail(scene.store) == []

    async def test_a_refused_change_is_not_in_the_audit_trail(self, scene: Scene) -> None:
        store, endpoint, application = scene.store, scene.endpoint, scene.application.id
        message, _ = await _attempted(scene)
        taken, key, event_type = an_application(uid="taken"), a_key(), an_event_type("a")
        await store.put(taken)
        await store.put(an_endpoint(application, uid="taken"))
        await store.create(key)
        await store.create(event_type)
        await store.add_task(a_task(endpoint, Work.RECOVER, since=NOON, until=NOON))

        def wrong(_stored: object) -> NoReturn:
            raise Conflict("value", "wrong")

        refused: list[Refused] = [
            lambda by: store.put(an_application(uid="taken"), by=by),
            lambda by: store.put(an_endpoint(application, uid="taken"), by=by),
            lambda by: store.put(an_endpoint(application), most=2, by=by),
            lambda by: store.put(an_endpoint("app_none"), by=by),
            lambda by: store.create(key, by=by),
            lambda by: store.create(event_type, by=by),
            lambda by: store.change(Applications(ENVIRONMENT), application, wrong, by=by),
            lambda by: store.change(Endpoints(application), endpoint.id, wrong, by=by),
            lambda by: store.change(EventTypes(ENVIRONMENT), "a", wrong, by=by),
            lambda by: store.change(Keys(ENVIRONMENT), key.id, wrong, by=by),
            lambda by: store.change(Keys("org_other"), key.id, lambda stored: stored, by=by),
            lambda by: store.delete(Applications("org_other"), application, now=NOON, by=by),
            lambda by: store.delete(Endpoints(taken.id), endpoint.id, now=NOON, by=by),
            lambda by: store.delete(EventTypes(ENVIRONMENT), "b", now=NOON, by=by),
            lambda by: store.cancel(taken.id, message.id, now=NOON, by=by),
            lambda by: store.resend(endpoint, "msg_none", resend="resend_1", by=by),
            lambda by: store.expunge(Messages(taken.id), message.id, by=by),
            lambda by: store.expunge(AttemptsOf(message.id), "atmpt_none", by=by),
            lambda by: store.add_task(a_task(endpoint, Work.RECOVER), most_pending=1, by=by),
        ]
        for refusal in refused:
            with pytest.raises((Conflict, NotFound, TooManyEndpoints, TooManyReplays)):
                await refusal(an_action())
        assert await _trail(store) == []

    async def test_a_replay_that_another_covers_is_not_in_the_audit_trail(
        self, scene: Scene
    ) -> None:
        first, second = (a_task(scene.endpoint, Work.RECOVER) for _ in range(2))
        await scene.store.add_task(first, most_pending=5)
        assert await scene.store.add_task(second, most_pending=5, by=an_action()) == first
        assert await _trail(scene.store) == []

    async def test_an_action_that_is_carried_out_again_is_in_the_audit_trail_once(
        self, scene: Scene
    ) -> None:
        store, by = scene.store, an_action()
        limited = replace(scene.application, rate=1.0)
        for _ in range(2):
            await store.change(
                Applications(ENVIRONMENT), limited.id, lambda _stored: limited, by=by
            )
        (entry,) = await _trail(store)
        assert entry.changes == (FieldChange("throttleRate", None, 1.0),)
        messages = [await scene.add() for _ in range(2)]
        for message in messages:
            await store.expunge(Messages(scene.application.id), message.id, by=by)
        assert sorted(entry.target for entry in await _trail(store)) == sorted(
            [scene.application.id, *(message.id for message in messages)]
        ), "an action has an entry for each target"

    async def test_the_audit_trail_is_read_page_by_page_and_only_of_one_environment(
        self, scene: Scene
    ) -> None:
        store = scene.store
        entries = [await _renamed(scene, an_action()) for _ in range(5)]
        foreign = await _renamed(scene, an_action(environment="org_other"))
        entries += [await _renamed(scene, an_action()) for _ in range(2)]

        async def read(cut: Cut) -> list[AuditEntry]:
            return (await store.page(AuditTrail(ENVIRONMENT), cut)).entries

        await check_pages(read, entries, lambda entry: entry.id)
        await check_gone(read, entries, 5, foreign.id)
        assert (await store.page(AuditTrail("org_other"), ALL)).entries == [foreign]

    async def test_the_audit_trail_is_filtered(self, scene: Scene) -> None:
        store = scene.store
        command = an_action(actor=ActorKind.COMMAND_LINE, key=None, operation="tarry key create")
        key = a_key()
        await store.create(key, by=command)
        entries = [
            *(await store.page(AuditTrail(ENVIRONMENT), ALL)).entries,
            await _renamed(scene, an_action(key="key_2")),
            await _renamed(scene, an_action(operation="v1.application.patch")),
        ]
        for wanted, expected in [
            (AuditFilter(), entries),
            (AuditFilter(application=scene.application.id), entries[1:]),
            (AuditFilter(application="app_none"), []),
            (AuditFilter(actor="command-line"), entries[:1]),
            (AuditFilter(actor="key"), entries[1:]),
            (AuditFilter(actor="key_2"), entries[1:2]),
            (AuditFilter(operation="tarry key create"), entries[:1]),
            (AuditFilter(target=key.id), entries[:1]),
            (AuditFilter(target=scene.application.id, actor="key_1"), entries[2:]),
            (AuditFilter(after=entries[1].at), entries[1:]),
            (AuditFilter(before=entries[1].at), entries[:1]),
            (AuditFilter(after=entries[1].at, before=entries[1].at + MILLISECOND), entries[1:2]),
        ]:
            found = await store.page(AuditTrail(ENVIRONMENT, wanted), ALL)
            assert found.entries == expected, wanted
        searched = await store.page(
            AuditTrail(ENVIRONMENT, AuditFilter(actor="command-line")), Cut(look=2, descending=True)
        )
        assert (searched.entries, searched.left_at) == ([], entries[1].id)

    async def test_old_entries_are_swept_in_pieces(self, scene: Scene) -> None:
        entries = [await _renamed(scene, an_action()) for _ in range(5)]
        retention = Retention(audit_before=entries[4].at)
        assert await scene.store.sweep(Retention(), limit=3) == 0
        assert await scene.store.sweep(retention, limit=3) == 3
        assert await scene.store.sweep(retention, limit=3) == 1
        assert await scene.store.sweep(retention, limit=3) == 0
        assert await _trail(scene.store) == entries[4:]


async def _trail(store: Store) -> list[AuditEntry]:
    """Return the whole audit trail of the environment."""
    return (await store.page(AuditTrail(ENVIRONMENT), ALL)).entries


async def _expect(store: Store, by: Action, target: Target) -> None:
    """Check that an action has one entry, which is the newest, and is about this target."""
    newest, *earlier = reversed(await _trail(store))
    assert newest == by.entry(target)
    assert newest.target not in [entry.target for entry in earlier if entry.at == by.at]


async def _renamed(scene: Scene, by: Action) -> AuditEntry:
    """Rename the application; return the entry about that."""
    await scene.store.change(
        Applications(ENVIRONMENT),
        scene.application.id,
        lambda stored: replace(stored, name=f"Acme {by.at}"),
        by=by,
    )
    application = scene.application.id
    return by.entry(Target("application", application, application, (FieldChange("name"),)))


async def _attempted(scene: Scene) -> tuple[Message, Attempt]:
    """Add a message, make an attempt at it, and return both."""
    message = await scene.add()
    (due,) = await scene.due()
    attempt = an_attempt(due)
    await scene.settle(put_back(due, attempt=attempt))
    return message, attempt
