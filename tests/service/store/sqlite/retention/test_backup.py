"""A backup is a complete database, copied while others write, or there is no file."""

import asyncio
from pathlib import Path

import apsw
import pytest

from tarry.errors import StoreError
from tarry.service.store.kinds import Environment, Environments, Lanes
from tarry.service.store.sqlite.database.connection import connect
from tarry.service.store.sqlite.database.own_thread import IsUnwanted
from tarry.service.store.sqlite.database.private_file import COMPANIONS
from tarry.service.store.sqlite.retention import backup
from tarry.service.store.sqlite.retention.backup import back_up
from tarry.service.store.sqlite.store import SqliteStore, open_sqlite
from tarry.testing.samples import new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_a_backup_taken_while_others_write_holds_whole_commits(
    scene: Scene, path: Path
) -> None:
    target = path.with_name("backup.db")
    over = asyncio.Event()

    async def keep_adding() -> None:
        while not over.is_set():
            await scene.store.add([new_message(scene.application) for _ in range(7)])

    adding = asyncio.create_task(keep_adding())
    for _ in range(5):
        await scene.store.backup(target)
    over.set()
    await adding
    copy = await open_sqlite(target, migrate=False)
    row = await copy.get(Lanes(scene.application.id), scene.endpoint.id)
    assert row.added % 7 == 0
    assert sum((await copy.counts(scene.lane)).values()) == row.added
    await Scene(copy, scene.application, scene.endpoint, []).add()
    await copy.close()


async def test_a_backup_replaces_the_one_before(scene: Scene, path: Path) -> None:
    target = path.with_name("backup.db")
    await scene.store.backup(target)
    await scene.store.put(Environment("org_new"))
    await scene.store.backup(target)
    copy = await open_sqlite(target)
    assert "org_new" in [environment.id for environment in await copy.read(Environments())]
    await copy.close()


async def test_a_backup_that_cannot_be_made_leaves_nothing(
    store: SqliteStore, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match=r"no backup at .*backup\.db"):
        await store.backup(tmp_path / "nowhere" / "backup.db")
    folder = make_folder(tmp_path / "taken")
    with pytest.raises(StoreError, match=r"no backup at .*taken"):
        await store.backup(folder)
    assert left(tmp_path, ".part") == []


@pytest.mark.parametrize("suffix", COMPANIONS)
async def test_no_file_of_the_database_itself_is_a_target(
    scene: Scene, path: Path, suffix: str
) -> None:
    own = path.with_name(path.name + suffix)
    link = path.with_name("link")
    link.symlink_to(own)
    for target in (own, link):
        with pytest.raises(StoreError, match="belongs to the database"):
            await scene.store.backup(target)
    await scene.add()


async def test_a_link_to_the_same_bytes_is_no_target_either(scene: Scene, path: Path) -> None:
    link = path.with_name("twin.db")
    link.hardlink_to(path)
    with pytest.raises(StoreError, match="belongs to the database"):
        await scene.store.backup(link)


async def test_two_who_back_up_to_one_place_at_once_keep_out_of_each_others_way(
    scene: Scene, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, copy, begun = tmp_path / "backup.db", backup._copy, list[Path]()  # noqa: SLF001  before the name

    def copy_beside_another(source: Path, part: Path, is_unwanted: IsUnwanted) -> None:
        begun.append(part)
        copy(source, part, is_unwanted)
        if part is begun[0]:
            back_up(path, target)  # another one comes before this one has put its copy in place
            assert (health(target), part.exists()) == ("ok", True)

    monkeypatch.setattr(backup, "_copy", copy_beside_another)
    await scene.store.backup(target)
    assert len(begun) == 2
    assert health(target) == "ok"
    assert left(tmp_path, ".part") == []


async def test_a_copy_that_nobody_waits_for_any_more_is_not_finished(
    scene: Scene, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.add()
    monkeypatch.setattr(backup, "PAGES_PER_CHECK", 1)
    answers = iter([False, False, True])
    with pytest.raises(StoreError, match=r"no backup at .*the caller has stopped waiting"):
        back_up(path, tmp_path / "backup.db", lambda: next(answers))
    assert left(tmp_path, ".part") == left(tmp_path, "backup.db") == []


async def test_what_is_written_meanwhile_does_not_start_a_copy_over(
    scene: Scene, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.add()
    monkeypatch.setattr(backup, "PAGES_PER_CHECK", 1)
    other, looks = connect(path), 0

    def write_meanwhile() -> bool:
        nonlocal looks
        looks += 1
        other.execute("INSERT INTO kept VALUES (?, ?)", (f"{looks}", b"x" * 5_000))
        return looks > pages  # it would never end

    pages = int(other.pragma("page_count"))
    back_up(path, tmp_path / "backup.db", write_meanwhile)
    other.close()
    assert looks == pages
    assert health(tmp_path / "backup.db") == "ok"


async def test_a_database_in_use_is_no_target(scene: Scene, tmp_path: Path) -> None:
    other = await open_sqlite(tmp_path / "other.db")
    await other.put(Environment("org_1"))
    with pytest.raises(StoreError, match="a database in use"):
        await scene.store.backup(tmp_path / "other.db")
    assert [environment.id for environment in await other.read(Environments())] == ["org_1"]
    await other.close()


def test_there_is_no_backup_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no backup at .*cannot be opened"):
        back_up(tmp_path / "nothing.db", tmp_path / "backup.db")
    assert left(tmp_path, "") == []


def make_folder(path: Path) -> Path:
    path.mkdir()
    (path / "something").touch()
    return path


def left(folder: Path, suffix: str) -> list[str]:
    return [file.name for file in folder.iterdir() if file.name.endswith(suffix)]


def health(path: Path) -> object:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    report = db.pragma("integrity_check")
    db.close()
    return report
