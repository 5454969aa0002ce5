"""The store that takes its time and is away now and then."""

import asyncio

import pytest

from tarry.errors import StoreUnavailable
from tarry.service.store.kinds import Environment, Environments
from tarry.service.store.memory.store import MemoryStore
from tarry.testing.shaky_store import Between, Shaky, slow
from tarry.testing.virtual_loop import virtually


@virtually
async def test_a_call_takes_its_time_and_gives_the_answer() -> None:
    shaky = Shaky(MemoryStore(clock=lambda: 12.0), latency=lambda: 3.0)
    assert (await shaky.store.server()).now == 12.0
    assert asyncio.get_running_loop().time() == 3.0
    assert shaky.calls == 1


@virtually
async def test_what_does_nothing_later_is_passed_on_as_it_is() -> None:
    store = MemoryStore(clock=lambda: 12.0)
    nudged: list[bool] = []
    Shaky(store).store.listen(lambda: nudged.append(True))
    await store.put(Environment("org_a"))
    assert shaky_calls(store) == 0
    assert nudged == []


def shaky_calls(store: MemoryStore) -> int:
    return Shaky(store).calls


@virtually
async def test_while_it_is_away_nothing_is_done() -> None:
    store = MemoryStore(clock=lambda: 12.0)
    shaky = Shaky(store)
    shaky.away = True
    with pytest.raises(StoreUnavailable, match="put: the store cannot be reached"):
        await shaky.store.put(Environment("org_a"))
    assert [environment.id for environment in await store.read(Environments())] == []
    shaky.away = False
    await shaky.store.put(Environment("org_a"))
    assert [environment.id for environment in await store.read(Environments())] == ["org_a"]


@virtually
async def test_when_it_forgets_all_is_done_and_nobody_hears_of_it() -> None:
    store = MemoryStore(clock=lambda: 12.0)
    shaky = Shaky(store)
    shaky.forgets = True
    with pytest.raises(StoreUnavailable, match="connection was lost"):
        await shaky.store.put(Environment("org_a"))
    assert [environment.id for environment in await store.read(Environments())] == ["org_a"]


@virtually
async def test_while_it_is_stuck_no_call_ends() -> None:
    shaky = Shaky(MemoryStore(clock=lambda: 12.0))
    shaky.stick()
    call = asyncio.create_task(shaky.store.server())
    await asyncio.sleep(1000)
    assert not call.done()
    shaky.free()
    assert (await call).now == 12.0


@virtually
async def test_what_stands_between_is_at_hand() -> None:
    between = Between(Shaky)
    store = between(MemoryStore(clock=lambda: 12.0))
    assert (await store.server()).now == 12.0
    assert between.shaky.calls == 1


@virtually
async def test_one_that_is_slow_takes_so_long_each_time() -> None:
    store = slow(2.0)(MemoryStore(clock=lambda: 12.0))
    await store.server()
    await store.server()
    assert asyncio.get_running_loop().time() == 4.0
