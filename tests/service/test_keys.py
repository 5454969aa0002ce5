import asyncio

import pytest

from tarry.errors import SealError, SettingsError
from tarry.service import Hooks, open_hooks
from tarry.service.keys import hash_key
from tarry.service.model.key import Key, Scope
from tarry.service.model.listing import Cut, Found
from tarry.service.store.kinds import Keys
from tarry.service.store.sqlite.store import SqliteStore
from tarry.service.wire.seal import generate_key

pytestmark = pytest.mark.anyio


async def test_a_key_is_found_by_its_hash_alone(hooks: Hooks) -> None:
    text, key = await hooks.make_key([Scope.READ], name="ci", expires_at=5_000_000_000.0)
    assert text.encode() not in key.hash
    found = await hooks.store.key(hash_key(text, await hooks.pepper()))
    assert found == key
    assert (found.scopes, found.name, found.environment) == ((Scope.READ,), "ci", hooks.environment)
    assert found.is_valid_at(4_999_999_999.0)
    assert not found.is_valid_at(5_000_000_000.0)


async def test_without_the_pepper_a_hash_is_another(hooks: Hooks) -> None:
    pepper = await hooks.pepper()
    assert pepper == await hooks.pepper(), "made once"
    assert hash_key("k", pepper) != hash_key("k", bytes(32))


async def test_a_revoked_key_opens_nothing(hooks: Hooks) -> None:
    _, key = await hooks.make_key()
    revoked = await hooks.revoke_key(key.id)
    assert revoked.revoked_at is not None
    assert not revoked.is_valid_at(revoked.revoked_at)


async def test_a_key_has_a_scope_at_least(hooks: Hooks) -> None:
    with pytest.raises(SettingsError, match="scopes"):
        await hooks.make_key([])


async def test_the_pepper_outlives_a_change_of_the_sealing_key(db: str) -> None:
    old, new = generate_key("old"), generate_key("new")
    async with open_hooks(db, sealing_keys=old) as hooks:
        pepper = await hooks.pepper()
    async with open_hooks(db, sealing_keys=f"{new}\n{old}") as hooks:
        await hooks.reseal()
        await hooks.reseal()
    async with open_hooks(db, sealing_keys=new) as hooks:
        assert await hooks.pepper() == pepper
    async with open_hooks(db, sealing_keys=generate_key("other")) as hooks:
        with pytest.raises(SealError, match="new"):
            await hooks.pepper()


async def test_the_first_key_is_made_once(hooks: Hooks) -> None:
    text = await hooks.first_key()
    assert text is not None
    assert (await hooks.store.key(hash_key(text, await hooks.pepper()))).scopes == (Scope.ADMIN,)
    assert await hooks.first_key() is None
    assert await hooks.within("org_other").first_key() is not None


async def test_of_several_who_begin_at_once_one_makes_the_first_key(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = SqliteStore.page
    both = asyncio.Barrier(2)

    async def look_together(store: SqliteStore, kind: Keys, cut: Cut) -> Found[Key]:
        keys = await look(store, kind, cut)
        await both.wait()
        return keys

    monkeypatch.setattr(SqliteStore, "page", look_together)
    made = await asyncio.gather(hooks.first_key(), hooks.first_key())
    monkeypatch.undo()
    assert sum(key is not None for key in made) == 1
    assert len((await hooks.store.page(Keys(hooks.environment), Cut())).entries) == 1
