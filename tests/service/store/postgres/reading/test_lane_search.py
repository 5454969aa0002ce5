"""Positions in a lane, found by binary search."""

import pytest

from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.store.paged_search import LATEST_ADD_SECONDS, SEQ_BOUNDS
from tarry.service.store.postgres.reading.lane_search import first_since, span
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

LONG_SECONDS = 2 * LATEST_ADD_SECONDS


async def test_what_was_accepted_from_a_time_on_is_not_before_a_number(
    scene: Scene, store: PostgresStore
) -> None:
    times = [NOON - LONG_SECONDS] * 5 + [NOON] * 4
    await store.add([new_message(scene.application, accepted_at=at) for at in times])
    fetch = store._database.fetch  # noqa: SLF001  what a page is asked for with
    for since, first in [
        (NOON - 2 * LONG_SECONDS, 1),
        (NOON - LONG_SECONDS, 1),
        (NOON, 6),
        (NOON + LONG_SECONDS, 10),
    ]:
        assert await first_since(fetch, scene.lane, since) == first
        within = await span(fetch, scene.lane, Cut(), MessageFilter(after=since))
        assert within == (first - 1, SEQ_BOUNDS[1])
    assert await first_since(fetch, scene.lane + 1, NOON) == 1
