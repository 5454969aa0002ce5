"""Tenants take turns at having their tasks done."""

import pytest

from tarry.service.dispatch.clock import Clock
from tarry.service.dispatch.ownership.shards import Shards
from tarry.service.dispatch.upkeep.task_turns import TaskTurns
from tarry.service.model.application import SHARDS
from tarry.service.model.settings import Limits
from tarry.service.model.task import IN_PIECES, STATISTICS, Task, Work
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import ENVIRONMENT, NOON

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Calls(MemoryStore):
    """Counts how often the next task is asked for."""

    asked = 0

    async def task(self, *args: object, **named: object) -> Task | None:
        self.asked += 1
        return await super().task(*args, **named)  # type: ignore[arg-type]  # handed on


@pytest.fixture
async def store() -> Calls:
    return Calls()


@pytest.fixture
async def shards(store: Calls) -> Shards:
    shards = Shards(store, "worker-1", Limits(), Clock(await store.clock()))
    while len(shards.owned) < SHARDS:
        await shards.take()
    return shards


async def put(store: MemoryStore, application: str, number: int) -> Task:
    return await store.add_task(
        Task(
            id=f"qtask_{application}_{number}",
            work=Work.PURGE_CONTENT,
            environment=ENVIRONMENT,
            application=application,
            created_at=NOON + number,
        )
    )


async def test_tenants_take_turns_with_their_oldest_tasks(store: Calls, shards: Shards) -> None:
    tasks = {name: [await put(store, name, at) for at in range(3)] for name in ("b", "a", "c")}
    turns = TaskTurns(store, shards, IN_PIECES)
    served = [await turns.next() for _ in range(6)]
    assert served == [tasks[name][0] for name in "abcabc"]
    first = await put(store, "aa", 0)
    assert await turns.next() == tasks["a"][0]
    assert await turns.next() == first


async def test_without_a_task_the_store_is_asked_once(store: Calls, shards: Shards) -> None:
    await put(store, "a", 0)
    turns = TaskTurns(store, shards, STATISTICS)
    for _ in range(3):
        assert await turns.next() is None
    assert store.asked == 3
    turns = TaskTurns(store, shards, IN_PIECES)
    assert await turns.next() is not None
    store._data.tasks.clear()  # noqa: SLF001  they are done
    store.asked = 0
    assert await turns.next() is None
    assert await turns.next() is None
    assert store.asked == 3, "once more to see that nobody is before the last one"


async def test_only_tasks_of_owned_shards_are_given(store: Calls, shards: Shards) -> None:
    await put(store, "a", 0)
    shards.owned.clear()
    assert await TaskTurns(store, shards, IN_PIECES).next() is None
