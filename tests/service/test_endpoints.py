"""Endpoints and their secrets: only what is told is changed, whatever the caller knows of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tarry.core.policy import Policy
from tarry.core.text import to_json
from tarry.errors import EgressRefused, PolicyError, SettingsError
from tarry.service import Hooks, open_hooks
from tarry.service.endpoints import MOST_OLD_SECRETS
from tarry.service.model.application import Application, shard_of
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change
from tarry.service.model.listing import Cut
from tarry.service.store.kinds import DataKeys, Endpoints, SealedEndpoints
from tarry.service.wire.seal import generate_key
from tests.migrated_file import make_migrated_file

pytestmark = pytest.mark.anyio

ELSEWHERE = "https://example.com/hook"


@pytest.fixture
async def hooks(db: str, tmp_path: Path) -> AsyncIterator[Hooks]:
    make_migrated_file(tmp_path / "hooks.db")
    async with open_hooks(db) as hooks:
        yield hooks


async def park(hooks: Hooks, endpoint: Endpoint, at: float) -> None:
    """Do as a dispatcher does whose endpoint takes nothing."""
    leases = await hooks.store.lease("worker", most=64, length=60.0)
    epoch = next(lease.epoch for lease in leases if lease.shard == shard_of(endpoint.application))
    parked = Change(lane=endpoint.lane, epoch=epoch, at=at, standing=Standing.PARKED)
    await hooks.store.settle([], [parked], leases)
    await hooks.store.release(leases)


async def test_an_address_that_must_not_be_called_is_refused_at_once(
    hooks: Hooks, shop: Application
) -> None:
    with pytest.raises(EgressRefused):
        await hooks.add_endpoint(shop, "http://169.254.169.254/latest")
    endpoint = await hooks.add_endpoint(shop, ELSEWHERE)
    with pytest.raises(EgressRefused):
        await hooks.change_endpoint(endpoint, url="http://10.0.0.1/")


async def test_a_policy_that_cannot_be_read_is_refused(hooks: Hooks, shop: Application) -> None:
    with pytest.raises(PolicyError):
        await hooks.add_endpoint(shop, ELSEWHERE, policy="{}x")
    endpoint = await hooks.add_endpoint(shop, ELSEWHERE, policy=to_json(Policy()))
    with pytest.raises(PolicyError):
        await hooks.change_endpoint(endpoint, policy='{"attempts": -1}')


async def test_an_endpoint_gets_a_secret_of_its_own_or_the_one_it_is_given(
    hooks: Hooks, shop: Application
) -> None:
    given = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    own = await hooks.add_endpoint(shop, ELSEWHERE)
    told = await hooks.add_endpoint(shop, ELSEWHERE, secret=given)
    assert hooks.secret(own).startswith("whsec_")
    assert hooks.secret(told) == given
    assert given.encode() not in b"".join(secret.sealed for secret in told.secrets)
    with pytest.raises(SettingsError):
        await hooks.add_endpoint(shop, ELSEWHERE, secret="whsec_short")  # noqa: S106  that is the point


async def test_headers_are_kept_sealed_and_those_of_ours_are_refused(
    hooks: Hooks, shop: Application
) -> None:
    endpoint = await hooks.add_endpoint(shop, ELSEWHERE, headers={"x-token": "hush"})
    assert endpoint.headers is not None
    assert b"hush" not in endpoint.headers
    assert (await hooks.change_endpoint(endpoint, headers={})).headers is None
    with pytest.raises(SettingsError):
        await hooks.change_endpoint(endpoint, headers={"webhook-id": "mine"})


@pytest.mark.parametrize(
    "wrong", [{"rate": 0}, {"concurrency": 0}, {"standing": Standing.DELETED}, {"parked": ()}]
)
async def test_settings_that_cannot_work_are_refused(
    hooks: Hooks, shop: Application, wrong: dict[str, object]
) -> None:
    with pytest.raises((SettingsError, TypeError), match=next(iter(wrong))):
        await hooks.add_endpoint(shop, ELSEWHERE, **wrong)  # type: ignore[arg-type]  # that is it
    endpoint = await hooks.add_endpoint(shop, ELSEWHERE)
    with pytest.raises((SettingsError, TypeError), match=next(iter(wrong))):
        await hooks.change_endpoint(endpoint, **wrong)  # type: ignore[arg-type]  # that is it
    assert (await hooks.store.page(Endpoints(shop.id), Cut())).entries == [endpoint]


async def test_parked_time_ends_when_an_endpoint_is_enabled_by_an_old_copy(
    hooks: Hooks, shop: Application
) -> None:
    old = await hooks.add_endpoint(shop, ELSEWHERE)
    await park(hooks, old, 10.0)
    changed = await hooks.change_endpoint(old, standing=Standing.ENABLED)
    assert changed.parked == ((10.0, changed.updated_at),)


async def test_of_an_old_copy_nothing_is_kept_but_what_is_told(
    hooks: Hooks, shop: Application
) -> None:
    old = await hooks.add_endpoint(shop, ELSEWHERE)
    await park(hooks, old, 10.0)
    await hooks.change_endpoint(old, rate=5.0, event_types=["a"])
    await hooks.change_endpoint(old, url="https://example.com/moved", rate=None)
    await hooks.rotate_secret(old)
    found = await hooks.rotate_secret(old)
    assert (found.url, found.rate) == ("https://example.com/moved", None)
    assert found.event_types == ("a",)
    assert (found.standing, found.parked) == (Standing.PARKED, ((10.0, None),))
    assert len(found.secrets) == 3
    assert found == await hooks.store.get(Endpoints(shop.id), old.id)


async def test_after_a_rotation_both_secrets_sign_until_the_grace_period_ends(
    hooks: Hooks, shop: Application
) -> None:
    endpoint = await hooks.add_endpoint(shop, ELSEWHERE)
    old = hooks.secret(endpoint)
    changed = await hooks.rotate_secret(endpoint, grace=60)
    assert hooks.secret(changed) != old
    newest, kept = changed.secrets
    assert newest.expires_at is None
    assert kept.expires_at == pytest.approx(changed.updated_at + 60, abs=1e-6)
    at_once = await hooks.rotate_secret(changed, grace=0)
    assert len(at_once.secrets) == 2  # the new one, and the one whose grace period still lasts


async def test_an_endpoint_has_only_so_many_old_secrets(hooks: Hooks, shop: Application) -> None:
    endpoint = await hooks.add_endpoint(shop, ELSEWHERE)
    for _ in range(MOST_OLD_SECRETS):
        endpoint = await hooks.rotate_secret(endpoint)
    with pytest.raises(SettingsError, match="old secrets"):
        await hooks.rotate_secret(endpoint)


async def test_with_a_new_sealing_key_everything_is_sealed_again(db: str) -> None:
    old, new = generate_key("old"), generate_key("new")
    async with open_hooks(db, sealing_keys=old) as hooks:
        shop = await hooks.application("shop")
        endpoint = await hooks.add_endpoint(shop, ELSEWHERE, headers={"x-token": "hush"})
        secret = hooks.secret(endpoint)
    async with open_hooks(db, sealing_keys=f"{new},{old}") as hooks:
        assert await hooks.reseal() == 1
        assert await hooks.reseal() == 0
    async with open_hooks(db, sealing_keys=new) as hooks:
        found = await hooks.store.get(Endpoints(shop.id), endpoint.id)
        assert hooks.secret(found) == secret
    with pytest.raises(SettingsError, match="sealed with the key 'new'"):
        async with open_hooks(db, sealing_keys=old):
            pass


async def test_sealing_again_takes_back_no_change_that_was_made_meanwhile(db: str) -> None:
    old, new = generate_key("old"), generate_key("new")
    async with open_hooks(db, sealing_keys=old) as hooks:
        shop = await hooks.application("shop")
        ends = [await hooks.add_endpoint(shop, ELSEWHERE) for _ in range(3)]
    async with open_hooks(db, sealing_keys=f"{new},{old}") as hooks:
        page = await hooks.store.read(SealedEndpoints())
        await hooks.change_endpoint(ends[0], url="https://example.com/moved")
        await hooks.delete_endpoint(ends[1])

        async def stale(query: SealedEndpoints | DataKeys) -> list[Endpoint]:
            return page if query == SealedEndpoints() else []

        hooks.store.read = stale  # type: ignore[assignment,method-assign]  # as it was before the changes
        assert await hooks.reseal() == 2
        moved = await hooks.store.get(Endpoints(shop.id), ends[0].id)
        assert moved.url == "https://example.com/moved"


async def test_sealing_again_keeps_a_secret_that_was_rotated_meanwhile(db: str) -> None:
    old, new = generate_key("old"), generate_key("new")
    async with open_hooks(db, sealing_keys=old) as hooks:
        shop = await hooks.application("shop")
        endpoint = await hooks.add_endpoint(shop, ELSEWHERE)
    async with open_hooks(db, sealing_keys=f"{new},{old}") as hooks:
        page = await hooks.store.read(SealedEndpoints())
        rotated = await hooks.rotate_secret(endpoint)
        secret = hooks.secret(rotated)

        async def stale(query: SealedEndpoints | DataKeys) -> list[Endpoint]:
            return page if query == SealedEndpoints() else []

        hooks.store.read = stale  # type: ignore[assignment,method-assign]  # as it was before the change
        assert await hooks.reseal() == 1
    async with open_hooks(db, sealing_keys=new) as hooks:
        found = await hooks.store.get(Endpoints(shop.id), endpoint.id)
        assert hooks.secret(found) == secret
        assert found.updated_at == rotated.updated_at


async def test_a_deleted_endpoint_has_no_secrets_any_more(hooks: Hooks, shop: Application) -> None:
    endpoint = await hooks.add_endpoint(shop, ELSEWHERE, headers={"x-token": "hush"})
    await hooks.delete_endpoint(endpoint)
    gone = (await hooks.lane(endpoint)).endpoint
    assert (gone.secrets, gone.headers) == ((), None)
