"""A reader sees a snapshot, changes nothing, and notices what other processes wake."""

import asyncio
from pathlib import Path
from threading import Event

import apsw
import pytest

from tarry.errors import NotFound, StoreError, StoreUnavailable
from tarry.service.store.sqlite.reader import Reader
from tarry.service.store.sqlite.store import SqliteStore
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


def count(db: apsw.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM environment").get)


async def test_one_read_sees_one_state_of_things(store: SqliteStore, path: Path) -> None:
    reader = Reader(path, "reader")
    between, go_on = Event(), Event()

    def twice(db: apsw.Connection) -> tuple[int, int]:
        first = count(db)
        between.set()
        go_on.wait()
        return first, count(db)

    reading = asyncio.create_task(reader.do(twice))
    await asyncio.to_thread(between.wait)
    await store.put_environment("org_1")
    go_on.set()
    assert await reading == (0, 0)
    assert await reader.do(count) == 1
    await reader.close()


async def test_an_error_ends_one_read_only(store: SqliteStore, path: Path) -> None:
    await store.check()
    reader = Reader(path, "reader")

    def miss(db: apsw.Connection) -> None:
        raise NotFound("reader", str(count(db)))

    with pytest.raises(NotFound):
        await reader.do(miss)
    with pytest.raises(StoreError, match="no such table: nowhere"):
        await reader.do(lambda db: db.execute("SELECT * FROM nowhere"))
    with pytest.raises(StoreUnavailable, match="it is read-only"):
        await reader.do(lambda db: db.execute("DELETE FROM origin"))
    assert await reader.do(count) == 0
    await reader.close()


async def test_a_file_that_is_not_there_yet_is_tried_again(path: Path) -> None:
    reader = Reader(path, "reader")
    with pytest.raises(StoreUnavailable, match="it cannot be opened"):
        await reader.do(count)
    from_now_on = await asyncio.to_thread(apsw.Connection, str(path))
    from_now_on.execute("CREATE TABLE environment (id)")
    assert await reader.do(count) == 0
    from_now_on.close()
    await reader.close()


async def test_a_lane_that_another_process_wakes_is_noticed(
    scene: Scene, other: SqliteStore
) -> None:
    heard = asyncio.Event()
    scene.store.listen(heard.set)
    await other.put_endpoint(scene.endpoint)
    await asyncio.wait_for(heard.wait(), 60)
    assert await scene.store.woken(scene.leases) == [scene.lane]


async def test_it_is_noticed_also_while_there_is_much_to_read(
    scene: Scene, other: SqliteStore
) -> None:
    heard = asyncio.Event()
    scene.store.listen(heard.set)

    async def read_on() -> None:
        while not heard.is_set():
            await scene.store.workers()

    reading = asyncio.create_task(read_on())
    await other.put_endpoint(scene.endpoint)
    await asyncio.wait_for(reading, 60)


async def test_a_lane_that_is_woken_here_is_told_at_once(scene: Scene) -> None:
    await scene.rest()
    heard: list[str] = []
    scene.store.listen(lambda: heard.append("nudge"))
    await scene.add()
    await asyncio.sleep(0)
    assert heard


async def test_listening_to_a_file_that_is_gone_goes_on(
    scene: Scene, other: SqliteStore, path: Path
) -> None:
    reader = Reader(path.with_name("gone.db"), "reader")
    told = Event()
    reader.watch(told.set)
    await asyncio.to_thread(reader.idle)
    assert not told.is_set()
    await reader.close()
    assert await other.environments() == await scene.store.environments()
