"""The doctor's checks of a database: its schema, whether it can be used, and its backlog."""

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tarry.cli.doctor.disk import on_disk
from tarry.cli.doctor.finding import Finding, ok, wrong
from tarry.errors import SealError, SettingsError, StoreError

if TYPE_CHECKING:
    from tarry.service.settings import Settings
    from tarry.service.store.contract import Store

SKEW = 1.0
"""How many seconds two clocks may differ."""
NOTHING_SEALED = "no secrets are stored yet"


async def database(settings: "Settings") -> AsyncIterator[Finding]:
    """Yield one finding after the other; stop when a check fails that the later ones need."""
    from tarry.service.build import migrator, scheme, sqlite_path, without_password  # noqa: PLC0415  it needs the extra

    db, shown = settings.db, without_password(settings.db)
    try:
        async with migrator(db) as opened:
            schema = await opened.status()
    except (SettingsError, StoreError) as error:
        yield wrong("database", f"{shown}: {error}")
        return
    if scheme(db) == "sqlite" and (advice_text := _missing_file_advice(sqlite_path(db))):
        yield wrong("database", f"{shown}: {advice_text}")
        return
    if schema.pending:
        problem = f"the database has schema {schema.found}, this version needs {schema.wanted}"
        yield wrong("schema", f"{problem}: run tarry migrate up")
        return
    yield ok("schema", f"{shown} has schema {schema.found}")
    if scheme(db) == "sqlite":
        for finding in on_disk(sqlite_path(db), settings.disk_reserve):
            yield finding
    else:
        from tarry.cli.doctor.postgres import of_server  # noqa: PLC0415  it needs the extra

        for finding in await of_server(db):
            yield finding
    async for finding in _check_opened(settings):
        yield finding


def _missing_file_advice(file: Path) -> str:
    """Describe the missing folder or file and how to create it; empty if nothing is missing."""
    if not file.parent.is_dir():
        return f"the folder {file.parent} does not exist: create it, or name another"
    return "" if file.exists() else f"the file {file} does not exist: tarry migrate up creates it"


async def _check_opened(settings: "Settings") -> AsyncIterator[Finding]:
    """Open the database and yield what can be said about it."""
    from tarry.cli.doctor.backlog import backlog  # noqa: PLC0415  it needs the extra

    try:
        async with _opened(settings) as store:
            await store.check()
            yield ok("writable", "the database accepts writes")
            yield await clock(store)
            yield await sealing(settings, store)
            for finding in await backlog(store, now=time.time()):
                yield finding
    except StoreError as error:
        yield wrong("writable", str(error))


@asynccontextmanager
async def _opened(settings: "Settings") -> AsyncIterator["Store"]:
    """Open the database, without migrating it, and close it at the end."""
    from tarry.service.build import open_store  # noqa: PLC0415  it needs the extra

    store = await open_store(settings.db, migrate=False)
    try:
        yield store
    finally:
        await store.close()


async def clock(store: "Store") -> Finding:
    """Compare the database's clock with this machine's."""
    before = time.time()
    server_time = (await store.server()).now
    after = time.time()
    difference = max(before - server_time, server_time - after, 0.0)
    if difference > SKEW:
        problem = (
            f"this machine's clock and the database's differ by {difference:.1f} s:"
            " synchronise both"
        )
        return wrong("clock", problem)
    return ok("clock", f"less than {SKEW:g} s from the database's clock")


async def sealing(settings: "Settings", store: "Store") -> Finding:
    """Check that the sealing keys open the sealed secrets; this creates no keys."""
    from tarry.service import Cut, kinds, seal  # noqa: PLC0415  likewise
    from tarry.service.build import KEYS, key_path, make_hooks, scheme, seals_for  # noqa: PLC0415  it needs the extra

    sealed = await store.read(kinds.SealedEndpoints(limit=1))
    data_keys = await store.read(kinds.DataKeys(limit=1))
    keyed = [
        environment.id
        for environment in await store.read(kinds.Environments())
        if (await store.page(kinds.Keys(environment.id), Cut(1))).entries
    ]
    beside = scheme(settings.db) == "sqlite" and not os.environ.get(KEYS)
    if beside and not key_path(settings.db).exists():
        if not (sealed or data_keys or keyed):
            return ok("sealing", NOTHING_SEALED)
        problem = f"{key_path(settings.db).name} is missing: restore it from your backup"
        return wrong("sealing", f"{problem}, or set {KEYS}")
    try:
        seals_for(settings)
        if not (sealed or data_keys or keyed):
            return ok("sealing", NOTHING_SEALED)
        hooks = make_hooks(settings, store)
        for endpoint in sealed:
            hooks.secret(endpoint)
        for data_key in data_keys:
            hooks.seals.open(data_key.sealed, seal.place_of_data_key(data_key))
        if keyed:
            await hooks.pepper()
    except (SettingsError, SealError) as error:
        return wrong("sealing", str(error))
    if not beside:
        return ok("sealing", f"{KEYS} decrypts the stored secrets")
    name = key_path(settings.db).name
    return ok(
        "sealing",
        f"{name} decrypts the stored secrets; keep a copy, apart from the database backup",
    )
