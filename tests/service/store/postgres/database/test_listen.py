import asyncio

import psycopg
import pytest

from tarry.service.store.postgres.database import address, listen
from tarry.service.store.postgres.database.listen import Listening
from tarry.service.store.postgres.database.pool import Database
from tarry.testing.store_contract.scene import Scene
from tests.service.store.postgres.pooler import pooler_of

pytestmark = pytest.mark.anyio

HEARD_WITHIN = 60.0


async def test_a_lane_that_is_woken_is_heard_of_in_another_process(
    scene: Scene, tarry_url: str
) -> None:
    listening = Listening(Database(address.read(tarry_url)))
    heard = asyncio.Event()
    listening.add(heard.set)
    await asyncio.wait_for(heard.wait(), HEARD_WITHIN)
    heard.clear()
    await scene.store.put(scene.endpoint)
    await asyncio.wait_for(heard.wait(), HEARD_WITHIN)
    await listening.close()


async def test_it_listens_again_after_the_connection_was_lost(
    tarry_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "RECONNECT_SECONDS", 0.0)
    listening = Listening(Database(address.read(tarry_url)))
    heard = asyncio.Event()
    listening.add(heard.set)
    await asyncio.wait_for(heard.wait(), HEARD_WITHIN)
    heard.clear()
    with psycopg.connect(tarry_url) as administrator:
        administrator.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        )
    await asyncio.wait_for(heard.wait(), HEARD_WITHIN)  # what came meanwhile may have been missed
    await listening.close()


async def test_behind_a_pooler_nobody_listens(tarry_url: str) -> None:
    async with pooler_of(tarry_url) as (_, url):
        listening = Listening(Database(address.read(url)))
        heard = asyncio.Event()
        listening.add(heard.set)
        await listening.ended()
        assert not heard.is_set()
        await listening.close()


async def test_who_never_listened_may_stop(tarry_url: str) -> None:
    await Listening(Database(address.read(tarry_url))).close()
