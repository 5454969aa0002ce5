"""The one place that puts a service together from its settings."""

from pathlib import Path

import pytest

from tarry.errors import (
    BacklogFull,
    DiskNearlyFull,
    SchemaMismatch,
    SettingsError,
    StoreError,
    StoreUnavailable,
)
from tarry.service import build
from tarry.service.build import KEYS
from tarry.service.model.message import Accepted
from tarry.service.settings import Settings
from tarry.service.store.memory.store import MemoryStore
from tarry.service.store.postgres.database import address
from tarry.service.store.postgres.store import PostgresStore
from tarry.service.store.sqlite.store import SqliteStore
from tarry.service.wire.seal import Place, Seals, generate_key
from tarry.testing.samples import an_application, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

PLACE = Place("app_1", "ep_1", "secret")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def file_url(path: Path) -> str:
    return f"sqlite:///{path}"


async def test_the_scheme_of_the_url_says_which_store(tmp_path: Path, database_url: str) -> None:
    for url, kind in (
        (file_url(tmp_path / "hooks.db"), SqliteStore),
        (database_url, PostgresStore),
        ("memory:", MemoryStore),
    ):
        store = await build.open_store(url, migrate=True)
        try:
            assert isinstance(store, kind)
            await store.check()
        finally:
            await store.close()


async def test_every_store_keeps_to_the_limit_for_applications_that_have_none(
    tmp_path: Path, database_url: str
) -> None:
    for url in (file_url(tmp_path / "hooks.db"), database_url, "memory:"):
        store = await build.open_store(url, migrate=True, most_waiting=1)
        try:
            scene = await Scene.set_up(store)
            answers = await store.add([new_message(scene.application) for _ in range(2)])
            assert [type(answer) for answer in answers] == [Accepted, BacklogFull], url
        finally:
            await store.close()


async def test_a_file_keeps_to_the_reserve_of_its_disk(tmp_path: Path) -> None:
    url = file_url(tmp_path / "hooks.db")
    for reserve, kind in ((10**18, DiskNearlyFull), (0, Accepted)):
        store = await build.open_store(url, migrate=True, disk_reserve=reserve)
        try:
            application = an_application()
            await store.put(application)
            (answer,) = await store.add([new_message(application)])
            assert isinstance(answer, kind)
        finally:
            await store.close()


@pytest.mark.parametrize("setting", ["most_waiting", "disk_reserve"])
async def test_a_limit_below_nothing_is_refused(setting: str) -> None:
    limits: dict[str, int] = {setting: -1}
    with pytest.raises(SettingsError, match=setting):
        await build.open_store("memory:", migrate=True, **limits)


@pytest.mark.parametrize("url", ["", "hooks.db", "mysql://me@here/x", "sqlite", "file:///x"])
async def test_a_url_of_no_store_is_refused_with_what_would_do(url: str) -> None:
    with pytest.raises(SettingsError, match="postgresql://"):
        await build.open_store(url, migrate=False)
    with pytest.raises(SettingsError, match="postgresql://"):
        async with build.migrator(url):
            pytest.fail("there is nothing to migrate")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:hush@here/x",
        "mysql:me:hush@here/x",
        "postgresql:me:hush@here/x",
        "host=here password=hush",
    ],
)
async def test_a_refusal_does_not_tell_the_password(url: str) -> None:
    with pytest.raises(SettingsError) as refused:
        await build.open_store(url, migrate=False)
    assert "hush" not in str(refused.value)


async def test_without_its_driver_a_server_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"pip install 'tarry\[postgres\]'"):
        await build.open_store("postgresql://me@here/x", migrate=False)
    with pytest.raises(SettingsError, match=r"pip install 'tarry\[postgres\]'"):
        async with build.migrator("postgres://me@here/x"):
            pytest.fail("there is nothing to migrate with")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///hooks.db", "hooks.db"),
        ("sqlite:///data/my%20hooks.db", "data/my hooks.db"),
        ("sqlite:////var/lib/hooks.db", "/var/lib/hooks.db"),
        ("sqlite:///100%25.db", "100%.db"),
        ("sqlite:///a%23b%3Fc.db", "a#b?c.db"),
        ("SQLite:///hooks.db", "hooks.db"),
    ],
)
def test_three_slashes_are_followed_by_a_relative_path(url: str, path: str) -> None:
    assert build.sqlite_path(url) == Path(path)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///",
        "sqlite://here/x",
        "sqlite:///x?y=1",
        "sqlite:///x#y.db",
        "sqlite:///x%00.db",
        "sqlite:///:memory:",
    ],
)
def test_an_sqlite_url_without_a_file_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="sqlite:///FILE"):
        build.sqlite_path(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:hush@here/x?password=hush", "postgresql://me@here/x"),
        ("postgresql://me@here/x", "postgresql://me@here/x"),
        ("postgresql:///x?host=%2Ftmp", "postgresql:///x"),
        ("sqlite:///hooks.db", "sqlite:///hooks.db"),
        ("sqlite:///a@b=c.db", "sqlite:///a@b=c.db"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert build.without_password(url) == shown


async def test_without_leave_to_migrate_a_new_file_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "hooks.db"
    with pytest.raises(StoreError):
        await build.open_store(file_url(path), migrate=False)
    assert not path.exists()


async def test_a_schema_that_is_behind_is_named_and_the_migrator_mends_it(
    database_url: str,
) -> None:
    with pytest.raises(SchemaMismatch, match="tarry migrate up"):
        await build.open_store(database_url, migrate=False)
    async with build.migrator(database_url) as migrator:
        before = await migrator.up()
        assert before.pending
        assert not (await migrator.status()).pending
    store = await build.open_store(database_url, migrate=False)
    await store.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_setting_up_a_database_is_logged_once_without_its_password(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "hooks.db"
    url, shown = file_url(path), str(path)
    if kind == "postgres":
        url = str(request.getfixturevalue("database_url"))
        shown = address.show(url)
    with caplog.at_level("INFO"):
        for _ in range(2):
            await (await build.open_store(url, migrate=True)).close()
    (line,) = caplog.messages
    assert line.startswith(f"set up the new database {shown} with schema ")


async def test_a_server_that_is_not_there_is_said_to_be_away() -> None:
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1"):
        await build.open_store("postgresql://me@127.0.0.1:1/x", migrate=False)


def test_sealing_keys_are_those_given_then_the_environments_then_the_files(tmp_path: Path) -> None:
    given, environment = generate_key("given"), generate_key("environment")
    path = tmp_path / "hooks.db"
    said = Settings(db=file_url(path), sealing_keys=given)
    unsaid = Settings(db=file_url(path))
    by_setting = build.seals_for(said, {KEYS: environment})
    by_environment = build.seals_for(unsaid, {KEYS: environment})
    assert not (tmp_path / "hooks.db.keys").exists()
    by_file = build.seals_for(unsaid, {})
    assert (tmp_path / "hooks.db.keys").stat().st_mode & 0o077 == 0
    assert build.seals_for(unsaid, {}).open(by_file.seal(b"x", PLACE), PLACE) == b"x"
    assert Seals.of(given).open(by_setting.seal(b"x", PLACE), PLACE) == b"x"
    assert Seals.of(environment).open(by_environment.seal(b"x", PLACE), PLACE) == b"x"


def test_the_key_file_is_beside_the_database_and_not_beside_a_link_to_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "hooks.db").symlink_to(tmp_path / "data" / "hooks.db")
    build.seals_for(Settings(db=file_url(tmp_path / "hooks.db")), {})
    assert [file.name for file in (tmp_path / "data").iterdir()] == ["hooks.db.keys"]


def test_keys_that_are_none_are_told_with_where_they_are(tmp_path: Path) -> None:
    settings = Settings(db=file_url(tmp_path / "hooks.db"))
    file = tmp_path / "hooks.db.keys"
    build.seals_for(settings, {})
    file.write_text("nonsense")
    with pytest.raises(SettingsError, match=f"sealing keys in {file}"):
        build.seals_for(settings, {})
    with pytest.raises(SettingsError, match=f"sealing keys in {KEYS}"):
        build.seals_for(settings, {KEYS: ""})


def test_missing_keys_of_a_server_are_named_with_what_would_do() -> None:
    with pytest.raises(SettingsError) as raised:
        build.seals_for(Settings(db="postgresql://me:hush@here/x"), {})
    assert str(raised.value) == (
        "'TARRY_SEALING_KEYS' is 'not set'; it must be the sealing keys of postgresql://me@here/x,"
        " the same in all processes; `tarry seal new` prints the first one (in Python:"
        " sealing_keys of open_hooks)"
    )


def test_private_networks_and_ports_are_those_of_the_settings() -> None:
    settings = Settings(db="memory:", allow_network=("10.0.0.0/8",), ports="443")
    egress = build.egress_for(settings)
    assert egress.target("https://10.0.0.1/").host == "10.0.0.1"
    with pytest.raises(SettingsError):
        build.egress_for(Settings(db="memory:", allow_network=("ten",)))
