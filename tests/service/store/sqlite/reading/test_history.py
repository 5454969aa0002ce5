"""Lists for people are in order however long they are, and their requests take effect."""

import pytest

from tarry.service.store.kinds import Undelivered
from tarry.service.store.sqlite.store import SqliteStore
from tarry.testing.samples import NOON, delivered, failed, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_undelivered_goes_on_from_lane_to_lane(scene: Scene) -> None:
    second = await scene.add_endpoint()
    await scene.store.add([new_message(scene.application) for _ in range(6)])
    due = await scene.due()
    await scene.settle(*map(delivered, due[:3]), failed(due[3]))
    places: list[tuple[int, int]] = []
    after = (0, 0)
    while page := await scene.store.read(Undelivered(scene.application.id, after=after, limit=2)):
        places += [(delivery.lane, delivery.seq) for _, delivery in page]
        assert all(endpoint.lane == delivery.lane for endpoint, delivery in page)
        after = places[-1]
    expected = [(scene.lane, seq) for seq in (4, 5, 6)]
    assert places == expected + [(second.lane, seq) for seq in range(1, 7)]


async def test_a_message_is_cancelled_in_all_its_lanes_by_any_process(
    scene: Scene, other: SqliteStore
) -> None:
    second = await scene.add_endpoint()
    message = await scene.add()
    assert await other.cancel(scene.application.id, message.id, now=NOON) == 2
    for endpoint in (scene.endpoint, second):
        assert (await scene.row(endpoint)).waiting == 0
    assert await scene.store.woken(scene.leases) == [scene.lane, second.lane]
