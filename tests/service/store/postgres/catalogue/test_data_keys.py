"""Erasing waits for writes that are under way, and they for it."""

import asyncio

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest

from tarry.errors import ErasedKeyError
from tarry.service.model.delivery import Reason
from tarry.service.store.kinds import DataKeys
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, a_data_key, new_message
from tarry.testing.store_contract.scene import Scene
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio


async def test_erasing_waits_for_a_message_that_is_being_added(
    store: PostgresStore, tarry_url: str
) -> None:
    scene = await Scene.set_up(store)
    data_key = a_data_key(scene.application)
    await store.create(data_key)
    message = await scene.add(sealed_with=data_key.id)
    connection = await asyncpg.connect(tarry_url)
    await connection.execute("BEGIN")
    await connection.fetch(SQL["add_data_keys"], [data_key.id])  # as `add` does last
    erasing = asyncio.create_task(store.erase(scene.application.id, now=NOON))
    await someone_waits(tarry_url)
    assert await store.read(DataKeys((data_key.id,))) == [data_key]
    await connection.execute("COMMIT")
    assert await erasing
    await connection.close()
    task = await store.next_task([scene.application.shard])
    assert task is not None
    await store.advance(task, now=NOON, limit=9, lease=scene.lease)
    assert (await scene.delivery(message)).reason is Reason.ERASED


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
async def test_a_message_waits_for_an_erasure_and_is_refused_after_it(
    store: PostgresStore, tarry_url: str, ending: str
) -> None:
    scene = await Scene.set_up(store)
    data_key = a_data_key(scene.application)
    await store.create(data_key)
    connection = await asyncpg.connect(tarry_url)
    await connection.execute("BEGIN")
    await connection.fetch(SQL["erase_data_key"], scene.application.id)
    adding = asyncio.create_task(
        store.add([new_message(scene.application, sealed_with=data_key.id)])
    )
    await someone_waits(tarry_url)
    await connection.execute(ending)
    if ending == "COMMIT":
        with pytest.raises(ErasedKeyError):
            await adding
    else:
        await adding
    assert len(await scene.messages()) == (ending == "ROLLBACK")
    await connection.close()
