"""Both databases, a nursery of processes, and a receiver for every story."""

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from tarry.service import open_hooks
from tarry.service.build import KEYS
from tarry.service.wire.seal import generate_key
from tarry.testing.postgres import Cluster, throw_away_cluster
from tarry.testing.receiver import Receiver
from tests.faults.nursery import Nursery
from tests.faults.scene import Base, PostgresBase, Scene, SqliteBase


@pytest.fixture(scope="session")
def sealing_key() -> str:
    """One key for all processes."""
    return generate_key("test")


@pytest.fixture(scope="module", autouse=True)
def sealing_keys(sealing_key: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEYS, sealing_key)
        yield


@pytest.fixture(scope="session")
def nursery(sealing_key: str) -> Iterator[Nursery]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEYS, sealing_key)  # its children have it from now on
        nursery = Nursery()
    with nursery:
        yield nursery


class Databases:
    """Makes databases with tarry's schema, quickly; they go with their server."""

    def __init__(self, server: str, sealing_key: str) -> None:
        self._server = server
        self._sealing_key = sealing_key
        self._template = self._make("template0")
        asyncio.run(self._migrate())

    def new(self) -> str:
        """The URL of a new one."""
        return self._url(self._make(self._template))

    def _make(self, template: str) -> str:
        name = f"tarry_{uuid4().hex}"
        made = SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(name), Identifier(template))
        with psycopg.connect(self._server, autocommit=True) as server:
            server.execute(made)
        return name

    async def _migrate(self) -> None:
        async with open_hooks(self._url(self._template), sealing_keys=self._sealing_key):
            pass

    def _url(self, name: str) -> str:
        return urlsplit(self._server)._replace(path=f"/{name}").geturl()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A server that may be killed."""
    with throw_away_cluster(quick=True) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def databases(cluster: Cluster, sealing_key: str) -> Databases:
    return Databases(cluster.url, sealing_key)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def sqlite_base(tmp_path: Path) -> SqliteBase:
    return SqliteBase(tmp_path / "hooks.db")


@pytest.fixture
def postgres_base(databases: Databases) -> PostgresBase:
    return PostgresBase(databases.new())


@pytest.fixture(params=["sqlite", "postgres"])
def base(request: pytest.FixtureRequest) -> Base:
    base: Base = request.getfixturevalue(f"{request.param}_base")
    return base


@pytest.fixture
def scene(base: Base, receiver: Receiver, nursery: Nursery, tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(base, receiver, nursery, tmp_path)
    yield scene
    nursery.clear()


@pytest.fixture
def chance() -> random.Random:
    seed = int(os.environ.get("TARRY_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
    print(f"TARRY_TEST_SEED={seed}")  # noqa: T201  to be able to repeat it
    return random.Random(seed)
