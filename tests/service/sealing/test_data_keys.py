"""Data keys in memory: created once, read once a second, and forgotten."""

import asyncio
from collections.abc import Callable

import pytest

from tarry.errors import SealError, StoreUnavailable
from tarry.service.model.data_key import DataKey
from tarry.service.sealing import data_keys
from tarry.service.sealing.data_keys import DataKeys
from tarry.service.store import kinds
from tarry.service.store.contract import Store
from tarry.service.store.memory.store import MemoryStore
from tarry.service.wire.seal import Place, Seals, generate_key
from tarry.testing.samples import an_application
from tarry.testing.virtual_loop import virtually

pytestmark = pytest.mark.anyio

PLACE = Place("app", "row", "column")


class CountingStore(MemoryStore):
    """Counts how often data keys are read."""

    reads = 0

    async def _data_keys(self, query: kinds.DataKeys) -> list[DataKey]:
        self.reads += 1
        await asyncio.sleep(0)
        return await super()._data_keys(query)


class SlowStore(MemoryStore):
    """Takes some time to return data keys."""

    seconds = 0.0

    async def _data_keys(self, query: kinds.DataKeys) -> list[DataKey]:
        found = await super()._data_keys(query)
        await asyncio.sleep(self.seconds)
        return found


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


@pytest.fixture
def seals() -> Seals:
    return Seals.of(generate_key("first"))


async def application_in(store: Store) -> str:
    application = an_application()
    await store.put(application)
    return application.id


async def until(done: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while True:
            if done():
                return
            await asyncio.sleep(0.001)


async def test_an_application_gets_one_key_and_every_process_opens_it(
    store: CountingStore, seals: Seals
) -> None:
    application = await application_in(store)
    ours, theirs = DataKeys(store, seals), DataKeys(store, seals)
    first, second = await asyncio.gather(ours.of([application]), theirs.of([application]))
    assert first[application].id == second[application].id
    sealed = first[application].seal(b"value", PLACE)
    assert second[application].open(sealed, PLACE) == b"value"
    (stored,) = await store.read(kinds.DataKeys())
    assert first[application].secret not in stored.sealed


async def test_many_callers_at_once_read_a_key_once(store: CountingStore, seals: Seals) -> None:
    application = await application_in(store)
    await DataKeys(store, seals).of([application])
    keys, before = DataKeys(store, seals), store.reads
    found = await asyncio.gather(*(keys.named([application]) for _ in range(20)))
    assert store.reads == before + 1
    assert all(application in each for each in found)


async def test_keys_are_forgotten_after_a_while(
    store: CountingStore, seals: Seals, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_keys.FORGET_AFTER <= 1  # SECURITY.md says so
    monkeypatch.setattr(data_keys, "FORGET_AFTER", 0.01)
    application = await application_in(store)
    keys = DataKeys(store, seals)
    first = (await keys.of([application]))[application]
    assert keys.known(application) == first
    await until(lambda: keys.known(application) is None)
    await store.erase(application, now=0.0)
    assert await keys.named([first.id, application]) == {}
    assert (await keys.of([application]))[application].id != first.id


@virtually
async def test_the_second_begins_before_a_key_is_read() -> None:
    store, seals = SlowStore(), Seals.of(generate_key("first"))
    application = await application_in(store)
    await DataKeys(store, seals).of([application])
    keys = DataKeys(store, seals)
    for seconds, is_kept in ((0.75, True), (3.0, False)):
        store.seconds = seconds
        assert application in await keys.named([application])
        await asyncio.sleep(0.2)
        assert (keys.known(application) is not None) == is_kept
        await asyncio.sleep(0.1)
        assert keys.known(application) is None


@virtually
async def test_a_key_that_is_erased_while_it_is_read_is_not_kept() -> None:
    store, seals = SlowStore(), Seals.of(generate_key("first"))
    application = await application_in(store)
    await DataKeys(store, seals).of([application])
    keys = DataKeys(store, seals)
    store.seconds = 0.5
    reading = asyncio.create_task(keys.named([application]))
    await asyncio.sleep(0.1)
    await store.erase(application, now=0.0)
    keys.forget()
    assert application in await reading
    assert keys.known(application) is None


async def test_an_application_that_does_not_exist_gets_a_key_that_is_not_saved(
    store: CountingStore, seals: Seals
) -> None:
    keys = DataKeys(store, seals)
    assert (await keys.of(["app_unknown"]))["app_unknown"].seal(b"value", PLACE)
    assert await store.read(kinds.DataKeys()) == []


async def test_a_key_that_no_sealing_key_opens_seals_and_opens_nothing(
    store: CountingStore, seals: Seals
) -> None:
    application = await application_in(store)
    sealed = (await DataKeys(store, seals).of([application]))[application].seal(b"value", PLACE)
    other = DataKeys(store, Seals.of(generate_key("second")))
    locked = (await other.of([application]))[application]
    with pytest.raises(StoreUnavailable, match=f"{application} .*first"):
        locked.seal(b"value", PLACE)
    with pytest.raises(SealError, match="first"):
        locked.open(sealed, PLACE)


async def test_keys_are_sealed_again_with_the_newest_sealing_key(store: CountingStore) -> None:
    old, new = generate_key("old"), generate_key("new")
    applications = [await application_in(store) for _ in range(3)]
    before = await DataKeys(store, Seals.of(old)).of(applications)
    both = Seals.of(f"{new} {old}")
    await DataKeys(store, both).reseal()
    stored = await store.read(kinds.DataKeys())
    assert not any(both.needs_resealing(data_key.sealed) for data_key in stored)
    after = await DataKeys(store, Seals.of(new)).of(applications)
    assert {name: key.secret for name, key in after.items()} == {
        name: key.secret for name, key in before.items()
    }
    await DataKeys(store, both).reseal()
    assert await store.read(kinds.DataKeys()) == stored


async def test_fingerprints_differ_between_keys(store: CountingStore, seals: Seals) -> None:
    names = [await application_in(store) for _ in range(2)]
    first, second = (await DataKeys(store, seals).of(names)).values()
    assert first.keyed(b"hash") == first.keyed(b"hash")
    assert len({b"hash", first.keyed(b"hash"), second.keyed(b"hash")}) == 3
