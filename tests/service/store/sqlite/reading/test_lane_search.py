"""Positions in a lane, found by binary search."""

from pathlib import Path

import apsw
import pytest

from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.store.paged_search import LATEST_ADD_SECONDS, SEQ_BOUNDS
from tarry.service.store.sqlite.reading.lane_search import first_since, span
from tarry.service.store.sqlite.store import SqliteStore
from tarry.testing.samples import NOON, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

LONG_SECONDS = 2 * LATEST_ADD_SECONDS


async def test_what_was_accepted_from_a_time_on_is_not_before_a_number(
    scene: Scene, store: SqliteStore, path: Path
) -> None:
    times = [NOON - LONG_SECONDS] * 5 + [NOON] * 4
    await store.add([new_message(scene.application, accepted_at=at) for at in times])
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    for since, first in [
        (NOON - 2 * LONG_SECONDS, 1),
        (NOON - LONG_SECONDS, 1),
        (NOON, 6),
        (NOON + LONG_SECONDS, 10),
    ]:
        assert first_since(db, scene.lane, since) == first
        assert span(db, scene.lane, Cut(), MessageFilter(after=since)) == (first - 1, SEQ_BOUNDS[1])
    assert first_since(db, scene.lane + 1, NOON) == 1
