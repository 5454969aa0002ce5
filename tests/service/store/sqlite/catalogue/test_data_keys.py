"""An erased data key leaves no bytes in the file, and other rows are deleted as quickly as ever."""

import asyncio
from pathlib import Path

import apsw
import pytest

from tarry.service.store.kinds import Applications
from tarry.service.store.sqlite.catalogue.data_keys import erase_data_key
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.store import open_sqlite
from tarry.testing.samples import ENVIRONMENT, NOON, a_data_key
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


@pytest.mark.anyio
async def test_rows_are_overwritten_only_while_a_key_is_erased(threads: Threads) -> None:
    await threads.write(lambda session: erase_data_key(session, "app_none"))
    assert await threads.write(lambda session: session.db.pragma("secure_delete")) == 0
