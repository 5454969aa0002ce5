"""A file's schema goes forward, and files that are not tarry's are left alone."""

import asyncio
from pathlib import Path

import apsw
import pytest
from msgspec import json, to_builtins

from tarry.errors import SchemaMismatch, StoreError, StoreUnavailable
from tarry.service.model.application import SHARDS
from tarry.service.model.listing import Cut
from tarry.service.model.task import Work
from tarry.service.store.kinds import Notices, Tasks
from tarry.service.store.migrate import script
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.connection import connect
from tarry.service.store.sqlite.migrate.schema import (
    NEWEST_VERSION,
    STEPS,
    SqliteMigrator,
    bring_up,
    on_file,
)
from tarry.service.store.sqlite.store import open_sqlite
from tarry.testing.samples import a_notice, a_task, an_endpoint

pytestmark = pytest.mark.anyio


def there(path: Path) -> bool:
    return path.exists()


def write(path: Path, text: str) -> None:
    path.write_text(text)


def everything(path: Path) -> list[tuple[object, ...]]:
    """Read all definitions of a file."""
    db = apsw.Connection(str(path))
    contents = list(db.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name"))
    contents += list(db.execute("SELECT 'version', * FROM pragma_user_version"))
    contents += list(db.execute("SELECT 'program', * FROM pragma_application_id"))
    db.close()
    return contents


async def test_a_file_that_is_not_there_has_everything_pending(path: Path) -> None:
    status = await SqliteMigrator(path).status()
    assert (status.found, status.wanted) == (0, NEWEST_VERSION)
    assert status.pending == STEPS
    assert not there(path)


async def test_after_all_steps_nothing_is_pending(path: Path) -> None:
    assert (await SqliteMigrator(path).up()).found == 0
    assert (await SqliteMigrator(path).up()).found == NEWEST_VERSION
    assert (await SqliteMigrator(path).status()).pending == ()


async def test_the_script_does_what_the_steps_do(path: Path, tmp_path: Path) -> None:
    status = await SqliteMigrator(path).up()
    by_hand = tmp_path / "by-hand.db"
    db = apsw.Connection(str(by_hand))
    db.execute(script(status.pending))
    db.close()
    assert everything(by_hand) == everything(path)


async def test_of_many_who_begin_at_once_each_finds_it_done(path: Path) -> None:
    await asyncio.gather(*(SqliteMigrator(path).up() for _ in range(8)))
    assert (await SqliteMigrator(path).status()).pending == ()


async def test_there_is_a_row_for_every_shard(path: Path) -> None:
    await SqliteMigrator(path).up()
    db = apsw.Connection(str(path))
    assert [row[0] for row in db.execute("SELECT number FROM shard")] == list(range(SHARDS))
    db.close()


async def test_tasks_and_news_from_before_the_api_are_still_there(path: Path) -> None:
    db = connect(path, create=True)
    db.execute(STEPS[0].sql)
    endpoint = an_endpoint("app_1", lane=1)
    task, notice = a_task(endpoint, Work.DISCARD, environment="org_1"), a_notice(endpoint)
    fields = {name: value for name, value in to_builtins(task).items() if name != "environment"}
    old = json.encode(fields).decode()
    db.execute(
        "INSERT INTO application (id, environment, version, document)"
        " VALUES ('app_1', 'org_1', 1, '')"
    )
    db.execute(
        "INSERT INTO task (id, application, shard, created_at, document)"
        " VALUES (?, 'app_1', 1, 0, ?)",
        (task.id, old),
    )
    db.execute("INSERT INTO notice VALUES (?, 0, ?)", (notice.id, rows.document(notice)))
    db.close()
    store = await open_sqlite(path)
    assert await store.get(Tasks(task.environment), task.id) == task
    assert (await store.page(Tasks("org_1", work=Work.DISCARD), Cut())).entries == [task]
    assert await store.read(Notices()) == [notice]
    assert await store.read(Notices(unsent=True)) == []
    await store.close()


async def test_replays_from_before_they_were_counted_are_pending(path: Path) -> None:
    db = connect(path, create=True)
    for step in STEPS[:2]:
        db.execute(step.sql)
    task = a_task(an_endpoint("app_1", lane=7), Work.RECOVER)
    db.execute(
        "INSERT INTO task (id, work, environment, application, shard, created_at, document)"
        " VALUES (?, 'endpoint.recover', 'org_1', 'app_1', 1, 0, ?)",
        (task.id, rows.document(task)),
    )
    db.close()
    store = await open_sqlite(path)
    again = a_task(an_endpoint("app_1", lane=7), Work.RECOVER)
    assert await store.add_task(again, most_pending=1) == task
    await store.close()


async def test_a_schema_from_the_future_is_refused(path: Path) -> None:
    await SqliteMigrator(path).up()
    db = apsw.Connection(str(path))
    db.pragma("user_version", NEWEST_VERSION + 1)
    db.close()
    with pytest.raises(SchemaMismatch, match="made by a newer tarry"):
        await SqliteMigrator(path).status()
    with pytest.raises(SchemaMismatch, match="made by a newer tarry"):
        await open_sqlite(path)


async def test_a_step_that_fails_leaves_nothing_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [STEPS[0].__class__(1, "begin", "CREATE TABLE a (b); CREATE TABLE a (b);")]
    monkeypatch.setattr("tarry.service.store.sqlite.migrate.schema.STEPS", broken)
    with pytest.raises(StoreError, match="table a already exists"):
        await SqliteMigrator(path).up()
    assert everything(path) == [("version", 0), ("program", 0)]


async def test_another_programs_database_is_left_alone(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE recipe (name)")
    db.close()
    with pytest.raises(StoreError, match="the database of another program"):
        await open_sqlite(path)
    db = apsw.Connection(str(path))
    assert db.pragma("journal_mode") == "delete"
    db.close()


async def test_what_is_the_matter_with_a_path_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"the folder .*nowhere does not exist"):
        await open_sqlite(tmp_path / "nowhere" / "hooks.db")
    with pytest.raises(StoreError, match="is a folder: name a file in it"):
        await open_sqlite(tmp_path)


async def test_a_file_that_is_no_database_is_said_to_be_none(path: Path) -> None:
    write(path, "a diary, page one. " * 100)
    with pytest.raises(StoreError, match=r"is not an SQLite database .*restore a backup"):
        await open_sqlite(path)


@pytest.mark.parametrize("which", ["folder", "file"])
async def test_what_cannot_be_written_to_is_said(
    path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await SqliteMigrator(path).up()
    refused = path.parent if which == "folder" else path
    # The superuser may write everywhere: the system is asked, so let it say no.
    monkeypatch.setattr("os.access", lambda checked, _: checked != refused)
    with pytest.raises(StoreError, match="is read-only"):
        await open_sqlite(path)


async def test_without_migrating_an_old_schema_is_refused(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "WAL")
    db.close()
    with pytest.raises(SchemaMismatch, match="run `tarry migrate up`"):
        await open_sqlite(path, migrate=False)


async def test_steps_that_nobody_waits_for_any_more_are_not_made(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n;"
    steps = [STEPS[0].__class__(1, "begin", f"CREATE TABLE a (b); {endless}")]
    monkeypatch.setattr("tarry.service.store.sqlite.migrate.schema.STEPS", steps)
    answers = iter([False, False, True])
    with pytest.raises(StoreUnavailable, match="interrupted"):
        on_file(path, bring_up, lambda: next(answers), create=True)
    assert everything(path) == [("version", 0), ("program", 0)]
