import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tarry.service.api.http.access import ALLOWS, Access, Caller, Need
from tarry.service.hooks import Hooks
from tarry.service.model.key import Scope
from tarry.testing.clock import PushedClock

pytestmark = pytest.mark.anyio


def bearer(key: str) -> bytes:
    return f"Bearer {key}".encode()


async def access(hooks: Hooks, **options: Any) -> Access:  # noqa: ANN401  handed on
    return Access(hooks.store, await hooks.pepper(), **options)


async def test_the_first_key_may_do_everything(hooks: Hooks) -> None:
    caller = await (await access(hooks, first=("k", "org_1"))).caller(bearer("k"))
    assert caller == Caller(key="", environment="org_1", needs=frozenset(Need))


async def test_a_first_key_that_is_kept_may_do_no_more_than_it_says(hooks: Hooks) -> None:
    text, key = await hooks.make_key([Scope.SEND])
    first = (text, hooks.environment)
    caller = await (await access(hooks, first=first)).caller(bearer(text))
    assert caller is not None
    assert (caller.key, caller.needs) == (key.id, frozenset({Need.SEND}))
    await hooks.revoke_key(key.id)
    assert await (await access(hooks, first=first)).caller(bearer(text)) is None


@pytest.mark.parametrize(
    "header", [b"", b"k", b"Bearer", b"Bearer ", b"Basic k", b"Bearer other", b"Bearer \xff"]
)
async def test_without_a_key_that_is_known_nobody_is_let_in(hooks: Hooks, header: bytes) -> None:
    assert await (await access(hooks, first=("k", "org_1"))).caller(header) is None


async def test_the_word_before_a_key_may_be_written_small(hooks: Hooks) -> None:
    assert await (await access(hooks, first=("k", "org_1"))).caller(b"bearer k") is not None


async def test_a_key_that_is_kept_may_do_what_its_scopes_say(hooks: Hooks) -> None:
    text, key = await hooks.make_key([Scope.READ, Scope.SEND])
    caller = await (await access(hooks)).caller(bearer(text))
    needs = frozenset({Need.LOOK, Need.SEND})
    assert caller == Caller(key=key.id, environment=hooks.environment, needs=needs)


async def test_a_key_that_a_later_version_wrote_opens_nothing(
    hooks: Hooks, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text, _ = await hooks.make_key([Scope.READ])
    with closing(sqlite3.connect(path)) as db, db:
        (changed,) = db.execute(
            "UPDATE api_key SET document = replace(document, '\"read\"', '\"king\"') RETURNING 1"
        )
    assert changed == (1,)
    assert await (await access(hooks)).caller(bearer(text)) is None
    assert "king" in caplog.text


async def test_a_scope_that_allows_nothing_is_no_harm(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, _ = await hooks.make_key([Scope.READ, Scope.SEND])
    monkeypatch.delitem(ALLOWS, Scope.READ)
    caller = await (await access(hooks)).caller(bearer(text))
    assert caller is not None
    assert caller.needs == {Need.SEND}


async def test_a_key_that_is_over_opens_nothing(hooks: Hooks) -> None:
    text, _ = await hooks.make_key(expires_at=100.0)
    assert await (await access(hooks, now=lambda: 99.0)).caller(bearer(text)) is not None
    assert await (await access(hooks, now=lambda: 100.0)).caller(bearer(text)) is None


async def test_a_key_is_remembered_for_less_than_a_second(hooks: Hooks) -> None:
    clock = PushedClock()
    keys = await access(hooks, clock=lambda: clock.now)
    text, key = await hooks.make_key()
    assert await keys.caller(bearer(text)) is not None
    await hooks.revoke_key(key.id)
    assert await keys.caller(bearer(text)) is not None
    clock.push(0.6)
    assert await keys.caller(bearer(text)) is None


async def test_it_does_not_remember_without_end(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.service.api.http.access.MOST_CACHED_KEYS", 2)
    keys = await access(hooks, first=("k", "org_1"))
    for number in range(5):
        assert await keys.caller(bearer(f"wrong {number}")) is None
    assert await keys.caller(bearer("k")) is not None


def test_every_scope_is_for_something_and_looks_at_least_unless_it_sends() -> None:
    assert set(ALLOWS) == set(Scope)
    assert [scope for scope in Scope if Need.LOOK not in ALLOWS[scope]] == [Scope.SEND]
    assert [scope for scope in Scope if Need.KEYS in ALLOWS[scope]] == [Scope.ADMIN]


async def test_keys_that_nobody_has_take_little_memory(hooks: Hooks) -> None:
    keys = await access(hooks)
    tracemalloc.start()
    for number in range(20):
        assert await keys.caller(bearer(f"{number}" + "k" * 50_000)) is None
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert memory < 500_000, "twenty of them hold a million characters"


async def test_a_first_key_may_be_written_in_any_letters(hooks: Hooks) -> None:
    keys = await access(hooks, first=("Schlüssel", "org_1"))
    assert await keys.caller(bearer("Schlüssel")) is not None
    assert await keys.caller("Bearer Schlüssel".encode("latin-1")) is None
