import pytest
from msgspec.structs import replace

from tarry.service.api.resources.messages.send_cache import SendCache
from tarry.service.hooks import Hooks
from tarry.service.store.kinds import EventTypes
from tarry.testing.clock import PushedClock
from tarry.testing.samples import an_event_type

pytestmark = pytest.mark.anyio


async def test_a_uid_that_went_to_another_application_counts_soon(hooks: Hooks) -> None:
    clock = PushedClock()
    cache = SendCache(hooks.store, clock=lambda: clock.now)
    old, remembered = await cache.application(hooks.environment, "shop")
    assert not remembered
    await hooks.store.put(replace(old, uid="shop-before"))
    new = await hooks.application("shop")
    assert await cache.application(hooks.environment, "shop") == (old, True)
    clock.push(1.1)
    assert await cache.application(hooks.environment, "shop") == (new, False)


async def test_what_is_forgotten_is_asked_for_again(hooks: Hooks) -> None:
    cache = SendCache(hooks.store)
    await cache.application(hooks.environment, "shop")
    cache.forget(hooks.environment, "shop")
    cache.forget(hooks.environment, "never known")
    assert not (await cache.application(hooks.environment, "shop"))[1]


async def test_it_does_not_remember_without_end(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.service.api.resources.messages.send_cache.MOST_CACHED", 1)
    cache = SendCache(hooks.store)
    await cache.application(hooks.environment, "shop")
    shop = await hooks.application("shop")
    await cache.application(hooks.environment, shop.id)
    assert not (await cache.application(hooks.environment, "shop"))[1]


async def test_what_payloads_have_to_fit_counts_soon(hooks: Hooks) -> None:
    clock = PushedClock()
    cache = SendCache(hooks.store, clock=lambda: clock.now)
    where = hooks.environment
    assert await cache.schema(where, "a") is None
    await hooks.store.create(
        an_event_type("a", environment=where, schemas='{"1":{"a" : 1},"0":{}}', validates=True)
    )
    assert await cache.schema(where, "a") is None
    clock.push(1.1)
    assert await cache.schema(where, "a") == '{"a" : 1}'
    await hooks.store.change(EventTypes(where), "a", lambda kind: replace(kind, validates=False))
    clock.push(1.1)
    assert await cache.schema(where, "a") is None


@pytest.mark.parametrize("schemas", ["{}", None])
async def test_without_a_schema_payloads_have_to_fit_nothing(
    hooks: Hooks, schemas: str | None
) -> None:
    event_type = an_event_type("a", environment=hooks.environment, schemas=schemas, validates=True)
    await hooks.store.create(event_type)
    assert await SendCache(hooks.store).schema(hooks.environment, "a") is None
