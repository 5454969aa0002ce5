import pytest

from tarry.service import Hooks
from tarry.service.model.audit import ActorKind, AuditEntry
from tarry.service.model.key import Scope
from tarry.service.model.listing import Cut
from tarry.service.model.replay import ReplayFilter
from tarry.service.store.kinds import AuditTrail

pytestmark = pytest.mark.anyio


async def trail(hooks: Hooks) -> list[AuditEntry]:
    return (await hooks.store.page(AuditTrail(hooks.environment), Cut(100))).entries


async def test_what_a_program_does_is_in_the_audit_trail_under_the_name_of_the_method(
    hooks: Hooks,
) -> None:
    shop = await hooks.application("shop")
    await hooks.application("shop", rate=5.0)
    endpoint = await hooks.add_endpoint(shop, "https://hooks.example/in")
    await hooks.change_endpoint(endpoint, concurrency=3)
    await hooks.rotate_secret(endpoint)
    await hooks.patch_headers(endpoint, {"x-tenant": "7"})
    await hooks.probe(endpoint)
    message = (await hooks.send(shop, "a", {})).message
    await hooks.resend(endpoint, message)
    await hooks.cancel(message)
    for replay in (hooks.recover, hooks.replay_missing):
        await replay(endpoint, since=0.0)
    await hooks.bulk_replay(endpoint, ReplayFilter(), since=0.0)
    await hooks.purge(shop)
    await hooks.erase_payloads(shop)
    await hooks.set_policy(None)
    _, key = await hooks.make_key((Scope.READ,))
    await hooks.revoke_key(key.id)
    await hooks.delete_endpoint(endpoint)
    await hooks.delete_application(shop)
    entries = await trail(hooks)
    assert sorted(entry.operation for entry in entries) == sorted(
        [
            *("application", "application", "add_endpoint", "change_endpoint", "rotate_secret"),
            *("patch_headers", "probe", "resend", "cancel", "recover", "replay_missing"),
            *("bulk_replay", "purge", "erase_payloads", "set_policy", "make_key", "revoke_key"),
            *("delete_endpoint", "delete_application"),
        ]
    )
    assert {(entry.actor, entry.key, entry.address) for entry in entries} == {
        (ActorKind.PROGRAM, None, None)
    }


async def test_who_acts_is_said_once_for_all_that_is_done(hooks: Hooks) -> None:
    acting = hooks.acting(ActorKind.KEY, "v1.key.create", key="key_1", address="192.0.2.7")
    await acting.make_key()
    (entry,) = await trail(hooks)
    assert (entry.actor, entry.key, entry.operation, entry.address) == (
        ActorKind.KEY,
        "key_1",
        "v1.key.create",
        "192.0.2.7",
    )
    assert hooks.action is None


async def test_a_command_says_which_one_it_is(hooks: Hooks) -> None:
    await hooks.for_command("tarry key create").make_key()
    (entry,) = await trail(hooks)
    assert (entry.actor, entry.operation) == (ActorKind.COMMAND_LINE, "tarry key create")


async def test_the_same_chance_gives_the_same_ids(hooks: Hooks) -> None:
    shop = await hooks.application("shop")
    before = len(await trail(hooks))
    within = hooks.within(hooks.environment, now=lambda: 1_800_000_000.0)
    for _ in range(2):
        acting = within.acting(ActorKind.KEY, "v1.policy.put", chance=bytes(17))
        await acting.application("shop", rate=5.0)
    assert len(await trail(hooks)) == before + 1
    assert (await trail(hooks))[-1].target == shop.id


async def test_sealing_again_is_not_in_the_audit_trail(hooks: Hooks) -> None:
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, "https://hooks.example/in")
    before = await trail(hooks)
    await hooks.reseal()
    assert await trail(hooks) == before
