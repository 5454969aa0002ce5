"""The store as a whole: it opens or says why not, it survives being killed, its log stays small."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tarry.errors import StoreError, StoreOwned
from tarry.service.model.application import Application
from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.store.kinds import Environment, Environments, Messages
from tarry.service.store.sqlite.store import SqliteStore, open_sqlite
from tarry.testing.samples import delivered, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

PAGE = 4096
ADD = """
import asyncio, pathlib, sys, uuid
from tarry.service.store.sqlite.store import open_sqlite
from tarry.testing.samples import new_message

async def add(store, application):
    while True:
        new = new_message(application, id=f"msg_{uuid.uuid4().hex}")
        await store.add([new])
        sys.stdout.write(new.message.id + "\\n")

async def main():
    store = await open_sqlite(pathlib.Path(sys.argv[1]))
    sys.stdout.reconfigure(line_buffering=True)
    await asyncio.gather(*(add(store, sys.argv[2]) for _ in range(8)))

asyncio.run(main())
"""


async def test_what_was_stored_is_there_again(path: Path) -> None:
    store = await open_sqlite(path)
    scene = await Scene.set_up(store)
    message = await scene.add(payload=b"\x00bytes\xff")
    await store.close()
    again = await open_sqlite(path, migrate=False)
    assert await again.get(Messages(scene.application.id), message.id) == message
    await again.close()


async def test_after_closing_nothing_is_done_any_more(store: SqliteStore) -> None:
    await store.close()
    with pytest.raises(StoreError, match="the store is closed"):
        [environment.id for environment in await store.read(Environments())]
    with pytest.raises(StoreError, match="the store is closed"):
        await store.put(Environment("org_1"))


async def test_a_path_stays_the_same_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = await open_sqlite(Path("hooks.db"))
    monkeypatch.chdir("/")
    await store.put(Environment("org_1"))
    assert [environment.id for environment in await store.read(Environments())] == ["org_1"]
    await store.close()


async def test_a_link_leads_to_the_same_database_and_the_same_dispatcher(
    path: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(path)
    store, other = await open_sqlite(path), await open_sqlite(link)
    assert await store.lease("worker-1", most=64, length=10.0)
    with pytest.raises(StoreOwned):
        await other.lease("worker-2", most=64, length=10.0)
    await other.close()
    await store.close()


async def test_under_constant_load_the_log_stays_small(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = 1_000
    monkeypatch.setattr("tarry.service.store.sqlite.database.disk.LONG_PAGES", pages)
    scene = await Scene.set_up(await open_sqlite(path))
    log = path.with_name("hooks.db-wal")
    sizes = []
    for _ in range(60):
        large = [new_message(scene.application, payload=bytes(9_000)) for _ in range(50)]
        await scene.store.add(large)
        due = (await scene.fetch(limit=50)).due
        _, size = await asyncio.gather(
            scene.settle(*map(delivered, due)), asyncio.to_thread(_size, log)
        )
        sizes.append(size)
    await scene.store.close()
    assert pages * PAGE < max(sizes) < 3 * pages * PAGE


async def test_a_damaged_file_is_said_to_be_damaged(scene: Scene, path: Path) -> None:
    for _ in range(50):
        await scene.add(payload=bytes(9_000))
    await scene.store.close()
    damage(path)
    again = await open_sqlite(path)
    with pytest.raises(StoreError, match=r"is damaged .*restore a backup"):
        await again.page(Messages(scene.application.id, MessageFilter()), Cut())
    await again.close()


@pytest.mark.slow
async def test_what_was_accepted_survives_being_killed(path: Path) -> None:
    store = await open_sqlite(path)
    scene = await Scene.set_up(store)
    for _ in range(3):
        accepted = await asyncio.to_thread(add_until_killed, path, scene.application)
        assert len(accepted) > 20
        stored = {due.message for due in (await scene.fetch(limit=100_000)).due}
        assert set(accepted) <= stored
    await store.check()
    counts = await store.counts(scene.lane)
    assert (await scene.row()).added == sum(counts.values())
    await store.close()


def add_until_killed(path: Path, application: Application) -> list[str]:
    """Kill another process while it adds messages; return the ids it got answers for."""
    child = subprocess.Popen(
        [sys.executable, "-c", ADD, str(path), application.id], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout
    accepted = [child.stdout.readline() for _ in range(100)]
    child.kill()
    accepted += child.stdout.readlines()
    child.wait()
    child.stdout.close()
    return [line.strip() for line in accepted if line.endswith("\n")]


def damage(path: Path) -> None:
    """Overwrite the pages after the schema."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2 // PAGE * PAGE)
        file.write(b"\xff" * (size // 4))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
