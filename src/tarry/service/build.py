"""Build the service: the only module that names concrete stores and senders."""

import os
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from tarry.errors import SettingsError
from tarry.service.fields import check_count
from tarry.service.hooks import DEFAULT, Hooks
from tarry.service.model.ids import entropy
from tarry.service.settings import Settings
from tarry.service.store.contract import Store
from tarry.service.store.kinds import DataKeys, Environment, Environments, SealedEndpoints
from tarry.service.store.migrate import Migrator
from tarry.service.wire import tls
from tarry.service.wire.client import Client
from tarry.service.wire.dial import Resolver
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import Sender
from tarry.service.wire.proxy import Proxy
from tarry.service.wire.seal import Seals, key_file

if TYPE_CHECKING:
    from tarry.service.store.sqlite.ingest.bare import BareFile

WANTED_URL = "sqlite:///FILE, postgresql://USER@HOST/NAME or memory:"
IN_MEMORY = ":memory:"
"""SQLite's own name for a database without a file. It is refused as the name of a file."""
KEYS = "TARRY_SEALING_KEYS"
"""The environment variable with the sealing keys, for users who do not want a key file."""


async def open_store(
    url: str, *, migrate: bool, most_waiting: int | None = None, disk_reserve: int | None = None
) -> Store:
    """Open the database at a URL, and bring its schema up to date if asked to; see `Settings`.

    SettingsError, StoreError and SchemaMismatch each say in one line what is wrong.
    """
    check_count("most_waiting", most_waiting, least=0)
    check_count("disk_reserve", disk_reserve, least=0)
    match scheme(url):
        case "sqlite":
            from tarry.service.store.sqlite.database.disk import Room  # noqa: PLC0415  only if used
            from tarry.service.store.sqlite.store import open_sqlite  # noqa: PLC0415  likewise

            path = sqlite_path(url)
            room = Room(path.resolve(), disk_reserve)
            return await open_sqlite(path, migrate=migrate, room=room, most_waiting=most_waiting)
        case "postgresql" | "postgres":
            _refuse_missing_driver(url)
            from tarry.service.store.postgres.store import (  # noqa: PLC0415  it needs an extra
                PostgresStore,
            )

            return await PostgresStore.open(url, migrate=migrate, most_waiting=most_waiting)
        case "memory":
            from tarry.service.store.memory.store import (  # noqa: PLC0415  only if used
                MemoryStore,
            )

            return MemoryStore(most_waiting=most_waiting)
        case _:
            raise SettingsError("db", without_password(url), WANTED_URL)


def scheme(url: str) -> str:
    """Return the kind of database that a URL names."""
    try:
        return urlsplit(url).scheme
    except ValueError as error:
        raise SettingsError("db", without_password(url), WANTED_URL) from error


def _refuse_missing_driver(url: str) -> None:
    if find_spec("asyncpg") is None:
        wanted = "of a database whose driver is installed: pip install 'tarry[postgres]'"
        raise SettingsError("db", without_password(url), wanted)


def sqlite_path(url: str) -> Path:
    """Return the file of an SQLite URL: a relative path after three slashes, or a full path."""
    _, slashes, name = url.partition(":///")
    path = unquote(name)
    if not slashes or not path or "\0" in path:
        raise SettingsError("db", url, "sqlite:///FILE, or sqlite:////FOLDER/FILE from the root")
    if "?" in name or "#" in name:
        wanted = "sqlite:///FILE, with %3F for ? and %23 for # in the file's name"
        raise SettingsError("db", url, wanted)
    if path == IN_MEMORY:
        raise SettingsError("db", url, "sqlite:///FILE; memory: is a database without a file")
    return Path(path)


def without_password(url: str) -> str:
    """Return a URL that may be shown: without a password, and without a query that may have one."""
    try:
        parts = urlsplit(url)
    except ValueError:  # the password could be anywhere
        return f"{url.partition(':')[0]}:..."
    if "://" not in url and re.search("[@=]", url):  # the password could be anywhere
        return f"{re.split('[:=]', url, maxsplit=1)[0]}..."
    if parts.password is None and not parts.query:
        return url
    user, _, host = parts.netloc.rpartition("@")
    shown = user.partition(":")[0]
    return f"{parts.scheme}://{f'{shown}@' if shown else ''}{host}{parts.path}"


@asynccontextmanager
async def migrator(url: str) -> AsyncIterator[Migrator]:
    """Provide the migrator of the database at a URL."""
    match scheme(url):
        case "sqlite":
            from tarry.service.store.sqlite.migrate.schema import (  # noqa: PLC0415  only if used
                SqliteMigrator,
            )

            yield SqliteMigrator(sqlite_path(url))
        case "postgresql" | "postgres":
            _refuse_missing_driver(url)
            from tarry.service.store.postgres.migrate.schema import (  # noqa: PLC0415  it needs an extra
                open_migrator,
            )

            async with open_migrator(url) as opened:
                yield opened
        case _:
            wanted = "sqlite:///FILE or postgresql://USER@HOST/NAME"
            raise SettingsError("db", without_password(url), wanted)


def sqlite_room(path: Path, reserve: int | None) -> tuple[int, int]:
    """Return the free bytes on an SQLite file's disk, and the bytes that are kept free there."""
    from tarry.service.store.sqlite.database.disk import disk_of, reserve_on  # noqa: PLC0415  only if used

    disk = disk_of(path)
    return disk.free, reserve_on(disk, reserve)


def sqlite_exposed(path: Path) -> list[Path]:
    """Return the files of an SQLite database that other users of this machine may open."""
    from tarry.service.store.sqlite.database.private_file import exposed  # noqa: PLC0415  only if used

    return list(exposed(path))


async def ask_server(url: str, query: str) -> dict[str, Any]:
    """Return the row that a PostgreSQL server gives; StoreError if it cannot be queried."""
    from tarry.service.store.postgres.database.ask import ask  # noqa: PLC0415  it needs an extra

    return await ask(url, query)


def bare_file(path: Path) -> "BareFile":
    """Return a new SQLite file that takes rows and does nothing else, for benchmarks."""
    from tarry.service.store.sqlite.ingest.bare import BareFile  # noqa: PLC0415  only if used

    return BareFile(path)


def seals_for(settings: Settings, environment: Mapping[str, str] = os.environ) -> Seals:
    """Return the sealing keys: from the settings, the environment, or the file by the database."""
    if settings.sealing_keys:
        return Seals.of(settings.sealing_keys)
    key_source, text = KEYS, environment.get(KEYS)
    if text is None:
        if scheme(settings.db) != "sqlite":
            wanted = (
                f"the sealing keys of {without_password(settings.db)}, the same in all processes;"
                " `tarry seal new` prints the first one (in Python: sealing_keys of open_hooks)"
            )
            raise SettingsError(KEYS, "not set", wanted)
        key_source = str(key_path(settings.db))
        text = key_file(Path(key_source))
    try:
        return Seals.of(text)
    except SettingsError as error:
        raise SettingsError(f"sealing keys in {key_source}", error.value, error.wanted) from None


def key_path(db: str) -> Path:
    """Return the key file of an SQLite database: beside the file itself, not beside a link."""
    database = sqlite_path(db).resolve()
    return database.with_name(f"{database.name}.keys")


async def refuse_lost_keys(settings: Settings, store: Store) -> None:
    """Raise if secrets are sealed but the key file is missing, before a new one is created."""
    key_text = settings.sealing_keys or os.environ.get(KEYS)
    if key_text is not None or scheme(settings.db) != "sqlite":
        return
    path = key_path(settings.db)
    # In this order: another process may just be creating the file and then the first sealed value.
    sealed = [*await store.read(SealedEndpoints(limit=1)), *await store.read(DataKeys(limit=1))]
    if sealed and not path.exists():
        wanted = f"the key file of this database (put it back from your backup), or {KEYS} set"
        raise SettingsError("sealing keys", f"{path.name}, which is missing", wanted)


def egress_for(settings: Settings) -> Egress:
    """Return the rules about addresses that may be called."""
    return Egress.of(settings.allow_network, ports=settings.ports, own=settings.own)


class _Wire:
    """The sender and its resolver, closed together."""

    def __init__(self, settings: Settings, egress: Egress) -> None:
        proxy = None if settings.proxy is None else Proxy.at(settings.proxy)
        context = tls.context(authorities=settings.authorities, certificate=settings.certificate)
        self._resolver = Resolver(egress)
        self._client = Client(self._resolver, egress.permits, context=context, proxy=proxy)
        self.send = self._client.send

    async def close(self) -> None:
        """Close both."""
        await self._client.close()
        self._resolver.close()


def make_sender(settings: Settings, egress: Egress) -> Sender:
    """Return the sender of requests, on the running event loop."""
    return _Wire(settings, egress)


def make_hooks(
    settings: Settings,
    store: Store,
    *,
    environment: str = DEFAULT,
    now: Callable[[], float] = time.time,
    chance: Callable[[int], bytes] = entropy,
) -> Hooks:
    """Return the hooks of a store that is open already."""
    egress = egress_for(settings)
    return Hooks(
        settings,
        store,
        seals=seals_for(settings),
        egress=egress,
        make_sender=partial(make_sender, settings, egress),
        environment=environment,
        now=now,
        chance=chance,
    )


@asynccontextmanager
async def open_hooks(
    db: str,
    *,
    environment: str = DEFAULT,
    migrate: bool = True,
    **settings: Any,  # noqa: ANN401  those of Settings
) -> AsyncIterator[Hooks]:
    """Open a database of webhooks by its URL, and close it at the end.

    `sqlite:///hooks.db` is a file, created if it does not exist; `postgresql://...` is a server.
    """
    configuration = Settings(db=db, **settings)
    store = await open_store(
        db,
        migrate=migrate,
        most_waiting=configuration.most_waiting,
        disk_reserve=configuration.disk_reserve,
    )
    try:
        await refuse_lost_keys(configuration, store)
        hooks = make_hooks(configuration, store, environment=environment)
        await hooks.refuse_other_keys()
        if environment not in {stored.id for stored in await store.read(Environments())}:
            # Another process may have created it just now, and given it a policy.
            await store.create(Environment(environment))
        yield hooks
    finally:
        await store.close()
