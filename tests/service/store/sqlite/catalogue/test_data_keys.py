"""An erased data key leaves no bytes in the file, and other rows are deleted as quickly as ever."""

import asyncio
import random
from functools import partial
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from tarry.service.model.data_key import DataKey
from tarry.service.store.kinds import Applications, DataKeys
from tarry.service.store.sqlite.catalogue.data_keys import erase_data_key
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.store import open_sqlite
from tarry.testing.samples import ENVIRONMENT, NOON, a_data_key, an_application
from tarry.testing.store_contract.scene import Scene

SEALED = bytes(range(200)) + b"of the data key"


async def close_after(path: Path, *, how: str) -> None:
    """Close the file after a data key was erased, or before."""
    store = await open_sqlite(path)
    scene = await Scene.set_up(store)
    await store.create(a_data_key(scene.application, sealed=SEALED))
    match how:
        case "erase":
            assert await store.erase(scene.application.id, now=NOON)
        case "delete":
            await store.delete(Applications(ENVIRONMENT), scene.application.id, now=NOON)
        case "delete without care":
            connection = apsw.Connection(str(path))
            connection.execute("DELETE FROM data_key")
            connection.close()
    await store.close()


@pytest.mark.parametrize("how", ["erase", "delete"])
def test_the_bytes_of_an_erased_key_are_overwritten(path: Path, how: str) -> None:
    asyncio.run(close_after(path, how=how))
    assert SEALED not in path.read_bytes()


@pytest.mark.parametrize("how", ["nothing", "delete without care"])
def test_the_bytes_of_other_keys_are_found(path: Path, how: str) -> None:
    asyncio.run(close_after(path, how=how))
    assert SEALED in path.read_bytes()


def test_a_key_that_moved_to_another_page_leaves_no_copy_there(path: Path) -> None:
    erased, kept = asyncio.run(close_after_erasing_many(path))
    content = path.read_bytes()
    assert all(data_key.sealed in content for data_key in kept)
    assert [data_key.id for data_key in erased if data_key.sealed in content] == []


async def close_after_erasing_many(path: Path) -> tuple[list[DataKey], list[DataKey]]:
    """Close the file after 50 of 150 data keys were erased; return those, and the others.

    Half of the 50 are as they were before they were sealed again.
    """
    store, generator = await open_sqlite(path), random.Random(1)
    data_keys = []
    for _ in range(150):
        await store.put(application := an_application())
        data_keys.append(a_data_key(application, sealed=generator.randbytes(90)))
        await store.create(data_keys[-1])
    generator.shuffle(data_keys)
    erased, kept = data_keys[:50], data_keys[50:]
    for data_key in erased[:25]:
        again = generator.randbytes(99)
        await store.change(DataKeys(), data_key.id, partial(replace, sealed=again))
    for data_key in erased:
        await store.erase(data_key.application, now=NOON)
    await store.close()
    return erased, kept


@pytest.mark.anyio
async def test_rows_are_overwritten_only_while_a_key_is_erased(threads: Threads) -> None:
    await threads.write(lambda session: erase_data_key(session, "app_none"))
    assert await threads.write(lambda session: session.db.pragma("secure_delete")) == 0
