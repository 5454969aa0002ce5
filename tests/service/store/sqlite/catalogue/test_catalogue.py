"""Of concurrent callers only one gets a uid, and all processes see each other's changes."""

import pytest

from tarry.errors import Conflict, NotFound
from tarry.service.store.kinds import Applications, Endpoints
from tarry.service.store.sqlite.store import SqliteStore
from tarry.testing.samples import NOON, an_application, an_endpoint
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_a_refused_endpoint_leaves_no_lane_behind(scene: Scene) -> None:
    await scene.add_endpoint(uid="taken")
    with pytest.raises(Conflict, match="taken"):
        await scene.store.put(an_endpoint(scene.application, uid="taken"))
    last = await scene.add_endpoint(uid="free")
    assert last.lane == scene.lane + 2
    assert len(await scene.store.awake(range(64))) == 3


async def test_another_process_sees_a_deletion_at_once(scene: Scene, other: SqliteStore) -> None:
    assert await other.get(Endpoints(scene.application.id), scene.endpoint.id) == scene.endpoint
    (task,) = await scene.store.delete(
        Applications(scene.application.environment), scene.application.id, now=NOON
    )
    with pytest.raises(NotFound):
        await other.get(Endpoints(scene.application.id), task.id)
    with pytest.raises(NotFound):
        await other.put(an_endpoint(scene.application))


async def test_an_id_goes_before_somebody_elses_uid(store: SqliteStore) -> None:
    first = an_application()
    second = an_application(uid=first.id)
    for application in (second, first):
        await store.put(application)
    assert await store.get(Applications(first.environment), first.id) == first
