import pytest

from tarry.cli.doctor.database import clock, database
from tarry.cli.doctor.finding import Finding, State
from tarry.errors import StoreError
from tarry.service import open_hooks
from tarry.service.build import KEYS, key_path, migrator, sqlite_path
from tarry.service.settings import Settings
from tarry.service.store.contract import Server
from tarry.service.store.memory.store import MemoryStore

pytestmark = pytest.mark.anyio
DB = "sqlite:///hooks.db"


async def looked_at(db: str) -> dict[str, Finding]:
    return {one.check: one async for one in database(Settings(db=db))}


@pytest.fixture
async def used() -> str:
    """A database with an endpoint in it."""
    async with open_hooks(DB) as hooks:
        await hooks.add_endpoint(await hooks.application("shop"), "https://example.com/in")
    return DB


async def test_a_database_that_is_well_is_said_to_be(used: str) -> None:
    found = await looked_at(used)
    wanted = {"schema", "room", "log", "writable", "clock", "sealing", "backlog", "down"}
    assert wanted <= set(found)
    assert all(one.state is not State.WRONG for one in found.values()), found
    assert "hooks.db.keys decrypts the stored secrets" in found["sealing"].words


async def test_lost_keys_are_found_and_none_are_made(used: str) -> None:
    key_path(used).rename("elsewhere")
    assert (await looked_at(used))["sealing"].state is State.WRONG
    assert not key_path(used).exists()


async def test_keys_of_another_database_open_nothing(
    used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = key_path(used).read_text()
    async with open_hooks("sqlite:///other.db"):
        monkeypatch.setenv(KEYS, key_path("sqlite:///other.db").read_text())
    assert (await looked_at(used))["sealing"].state is State.WRONG
    monkeypatch.setenv(KEYS, right)
    assert (await looked_at(used))["sealing"] == (
        "sealing",
        State.OK,
        f"{KEYS} decrypts the stored secrets",
    )


async def test_what_keys_to_the_api_are_hashed_with_is_opened_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_hooks(DB) as hooks:
        await hooks.make_key()
    assert (await looked_at(DB))["sealing"].state is State.OK
    async with open_hooks("sqlite:///other.db"):
        monkeypatch.setenv(KEYS, key_path("sqlite:///other.db").read_text())
    assert (await looked_at(DB))["sealing"].state is State.WRONG


async def test_a_data_key_is_opened_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_hooks(DB, seal_payloads=True) as hooks:
        await hooks.send(await hooks.application("shop"), "order.paid", {})
    assert (await looked_at(DB))["sealing"].state is State.OK
    async with open_hooks("sqlite:///other.db"):
        monkeypatch.setenv(KEYS, key_path("sqlite:///other.db").read_text())
    assert (await looked_at(DB))["sealing"].state is State.WRONG


async def test_a_new_database_has_nothing_sealed() -> None:
    async with migrator(DB) as opened:
        await opened.up()
    assert (await looked_at(DB))["sealing"].words == "no secrets are stored yet"
    assert not key_path(DB).exists()


async def test_one_that_is_not_there_is_not_made() -> None:
    found = await looked_at(DB)
    assert list(found) == ["database"]
    assert (
        "the file hooks.db does not exist: tarry migrate up creates it" in found["database"].words
    )
    assert not sqlite_path(DB).exists()


async def test_a_folder_that_is_not_there_is_named() -> None:
    (found,) = (await looked_at("sqlite:///nowhere/hooks.db")).values()
    assert (found.check, found.state) == ("database", State.WRONG)
    assert "the folder nowhere does not exist: create it, or name another" in found.words


async def test_an_old_schema_is_to_be_brought_up_to_date() -> None:
    sqlite_path(DB).touch()
    (found,) = (await looked_at(DB)).values()
    assert (found.check, found.state) == ("schema", State.WRONG)
    assert found.words.endswith("tarry migrate up")


async def test_keys_that_cannot_be_read_are_found_before_something_is_sealed() -> None:
    async with open_hooks(DB):
        key_path(DB).write_text("nonsense")
    found = await looked_at(DB)
    assert found["sealing"].state is State.WRONG
    assert f"sealing keys in {key_path(DB)}" in found["sealing"].words


@pytest.mark.parametrize(
    "db",
    [
        "mysql://x",
        "sqlite:////proc/x.db",
        "postgresql://u:hush@127.0.0.1:1/x",
        "postgresql://u:hush@[::1/x",
    ],
)
async def test_one_that_cannot_be_used_is_told_without_its_password(db: str) -> None:
    (found,) = (await looked_at(db)).values()
    assert found.state is State.WRONG
    assert "hush" not in found.words


async def test_one_that_cannot_be_written_to_is_told(
    used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_store: object) -> None:
        raise StoreError("it is read-only")

    monkeypatch.setattr("tarry.service.store.sqlite.store.SqliteStore.check", fail)
    found = await looked_at(used)
    assert found["writable"] == ("writable", State.WRONG, "it is read-only")


async def test_postgres_is_looked_at_too(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEYS, "")
    async with migrator(database_url) as opened:
        await opened.up()
    found = await looked_at(database_url)
    assert {"schema", "version", "commit", "connections", "writable", "clock"} <= set(found)
    assert (found["sealing"].state, KEYS in found["sealing"].words) == (State.WRONG, True)
    assert found["clock"].state is State.OK


async def test_a_clock_that_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    monkeypatch.setattr("time.time", lambda: 100.0)

    async def there() -> Server:
        return Server(now=110.0, started_at=0.0, workers=0)

    monkeypatch.setattr(store, "server", there)
    found = await clock(store)
    assert (found.state, "differ by 10.0 s" in found.words) == (State.WRONG, True)
