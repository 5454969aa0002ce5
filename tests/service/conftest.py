"""Webhooks on a file of their own, with an application in it, and a PostgreSQL database.

The database has tarry's schema. It is made once for a test file, and emptied for each test.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from tarry.service import Hooks, open_hooks
from tarry.service.model.application import Application
from tarry.service.store.postgres.migrate.schema import STEPS
from tests.migrated_file import make_migrated_file

KEPT = {"migration", "shard"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'hooks.db'}"


@pytest.fixture
async def hooks(db: str, tmp_path: Path) -> AsyncIterator[Hooks]:
    """Endpoints of this machine may be called."""
    make_migrated_file(tmp_path / "hooks.db")
    async with open_hooks(db, allow_network=("127.0.0.0/8",)) as hooks:
        yield hooks


@pytest.fixture
async def shop(hooks: Hooks) -> Application:
    return await hooks.application("shop", name="A shop")


@pytest.fixture(scope="module")
def tarry_database(postgres_url: str) -> Iterator[str]:
    """The URL of a database with the schema, for all tests of a file."""
    name = f"tarry_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(SQL("CREATE DATABASE {} TEMPLATE template0").format(Identifier(name)))
    url = urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
    with psycopg.connect(url) as database:
        for step in STEPS:
            database.execute(step.sql.encode())
    yield url
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture
def tarry_url(tarry_database: str) -> str:
    """The same, with nothing in it."""
    with psycopg.connect(tarry_database) as database:
        tables = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'tarry'")
        for (table,) in tables.fetchall():
            if table not in KEPT:
                database.execute(SQL("DELETE FROM tarry.{}").format(Identifier(table)))
        database.execute("UPDATE tarry.shard SET worker = NULL, until = '-infinity', epoch = 0")
    return tarry_database
