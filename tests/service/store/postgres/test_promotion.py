"""A real standby is promoted: nothing that was accepted is lost, and the store goes on with it."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import quote

import psycopg
import pytest

from tarry.errors import StoreUnavailable
from tarry.service.model.message import Accepted
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.postgres import Cluster, throw_away_cluster
from tarry.testing.samples import new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]

SECONDS = 60.0
"""How long a server may take to follow, or to be found after a promotion."""
BEFORE_THE_CRASH = 50
"""Messages that are accepted before the primary is killed while more come."""


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            if condition():
                return
            await asyncio.sleep(0.05)


def asked(cluster: Cluster, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        cursor = connection.execute(query)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def primary_and_standby() -> Iterator[tuple[Cluster, Cluster]]:
    """Run a server, and a copy of it that follows it. Commits wait for the copy."""
    with throw_away_cluster() as primary, throw_away_cluster() as standby:
        standby.stop()
        shutil.rmtree(standby.folder / "data")
        program = primary.programs.path("pg_basebackup")
        source = ["--host", str(primary.folder), "--username", "postgres", "--checkpoint", "fast"]
        command = [program, "-D", str(standby.folder / "data"), "--write-recovery-conf", *source]
        user = "nobody" if os.geteuid() == 0 else None
        subprocess.run(command, check=True, cwd=standby.folder, user=user, group=None)
        standby.start()
        asked(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        asked(primary, "SELECT pg_reload_conf()")
        yield primary, standby


def url_of(*clusters: Cluster) -> str:
    """Return the URL of servers of which one is the primary."""
    folders = quote(",".join(str(cluster.folder) for cluster in clusters), safe="")
    return f"postgresql://postgres@/postgres?host={folders}&target_session_attrs=primary"


async def added(store: PostgresStore, scene: Scene) -> str:
    """Add a message as soon as there is a primary; return its id."""
    while True:
        try:
            (answer,) = await store.add([new_message(scene.application)])
        except StoreUnavailable:
            await asyncio.sleep(0.1)
        else:
            assert isinstance(answer, Accepted)
            return answer.message.id


async def test_all_that_was_accepted_is_on_the_promoted_standby() -> None:
    with primary_and_standby() as (primary, standby):
        follows = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
        await until(lambda: asked(primary, follows))
        store = await PostgresStore.open(url_of(primary, standby), migrate=True)
        scene = await Scene.set_up(store)
        started_at = (await store.server()).started_at
        accepted: list[str] = []

        async def send() -> None:
            """Add messages until the server is gone."""
            while True:
                (answer,) = await store.add([new_message(scene.application)])
                assert isinstance(answer, Accepted)
                accepted.append(answer.message.id)

        sending = [asyncio.create_task(send()) for _ in range(4)]
        await until(lambda: len(accepted) >= BEFORE_THE_CRASH)
        primary.kill()
        asked(standby, "SELECT pg_promote()")
        asked(standby, "ALTER SYSTEM RESET synchronous_standby_names")
        asked(standby, "SELECT pg_reload_conf()")
        for ended in await asyncio.gather(*sending, return_exceptions=True):
            assert isinstance(ended, StoreUnavailable)

        async with asyncio.timeout(SECONDS):
            after = await added(store, scene)
        listed = {message.id for message in await scene.messages()}
        assert listed.issuperset({*accepted, after})
        server = await store.server()
        assert server.started_at != started_at, "workers have to read their lanes again"
        due = await scene.due(limit=10_000)
        assert {delivery.message for delivery in due} == listed
        await store.close()
