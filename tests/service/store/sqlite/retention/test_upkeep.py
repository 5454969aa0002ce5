"""Data past its retention is removed in pieces, and a check names the problem."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import apsw
import pytest

from tarry.errors import SchemaMismatch, StoreUnavailable
from tarry.service.store.contract import Retention
from tarry.service.store.sqlite.database.connection import connect
from tarry.service.store.sqlite.store import SqliteStore
from tarry.testing.samples import NOON, delivered, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


def rows_in(path: Path) -> dict[str, int]:
    """Count the rows that belong to messages."""
    db = connect(path)
    counts = {
        table: int(db.execute(query).get)
        for table, query in {
            "message": "SELECT count(*) FROM message",
            "delivery": "SELECT count(*) FROM delivery",
            "attempt": "SELECT count(*) FROM attempt",
            "key": "SELECT count(*) FROM key",
        }.items()
    }
    db.close()
    return counts


async def test_a_message_goes_with_all_it_left_behind(scene: Scene, path: Path) -> None:
    await scene.add_endpoint()
    for n in range(10):
        await scene.store.add([new_message(scene.application, key=str(n), event_id=str(n))])
    for endpoint in scene.endpoints:
        await scene.settle(*map(delivered, await scene.due(lane=endpoint.lane)))
    retention = Retention(messages_before=NOON + 1)
    swept = [await scene.store.sweep(retention, limit=4) for _ in range(4)]
    assert swept == [24, 24, 12, 0]
    assert rows_in(path) == {"message": 0, "delivery": 0, "attempt": 0, "key": 0}


async def test_what_cannot_go_yet_does_not_keep_the_rest(scene: Scene, path: Path) -> None:
    messages = [await scene.add() for _ in range(10)]
    due = await scene.due()
    await scene.settle(*map(delivered, due[5:]))
    await scene.store.resend(scene.endpoint, messages[9].id, resend="atmpt_1")
    retention = Retention(messages_before=NOON + 1, payloads_before=NOON + 1)
    while await scene.store.sweep(retention, limit=2):
        pass
    assert rows_in(path)["message"] == 6


async def test_a_check_finds_a_disk_that_is_full(
    scene: Scene, full_disk: Callable[[], AbstractContextManager[None]]
) -> None:
    await scene.store.check()
    with full_disk(), pytest.raises(StoreUnavailable):
        await scene.store.check()
    await scene.store.check()


async def test_a_check_finds_a_schema_from_the_future(store: SqliteStore, path: Path) -> None:
    await store.check()
    db = apsw.Connection(str(path))
    db.pragma("user_version", 999)
    db.close()
    with pytest.raises(SchemaMismatch):
        await store.check()
