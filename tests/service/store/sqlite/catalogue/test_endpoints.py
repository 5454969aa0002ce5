"""Every change of an endpoint raises its application's version."""

import time
from pathlib import Path

import pytest

from tarry.service.model.endpoint import Secret, Standing
from tarry.service.model.task import discarding
from tarry.service.store.kinds import AllTasksOf, Endpoints, SealedEndpoints
from tarry.service.store.sqlite.catalogue.endpoints import (
    keep_endpoint,
    save_endpoint,
    stored_endpoint,
)
from tarry.service.store.sqlite.database.session import Session
from tarry.testing.samples import ENVIRONMENT, NOON, a_message, an_endpoint
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_a_saved_endpoint_is_found_and_noticed(scene: Scene, path: Path) -> None:
    session = Session(path, time.time)
    before = session.tenants([scene.application.id])[scene.application.id]
    saved = an_endpoint(
        scene.application,
        id=scene.endpoint.id,
        lane=scene.lane,
        standing=Standing.DISABLED,
        secrets=(Secret(b"sealed"),),
    )
    assert await scene.store.read(SealedEndpoints()) == []
    save_endpoint(session, saved)
    after = session.tenants([scene.application.id])[scene.application.id]
    session.db.close()
    assert after.audience.version == before.audience.version + 1
    assert after.audience.goals(a_message(scene.application)) == ((scene.lane, True),)
    assert await scene.store.get(Endpoints(scene.application.id), saved.id) == saved
    assert await scene.store.read(SealedEndpoints()) == [saved]


async def test_one_that_is_kept_wakes_its_lane_and_leaves_a_task_when_it_goes(
    scene: Scene, path: Path
) -> None:
    session = Session(path, time.time)
    assert stored_endpoint(session, "ep_none") is None
    stored = stored_endpoint(session, scene.endpoint.id)
    assert stored == scene.endpoint
    deleted = keep_endpoint(session, stored.stand(Standing.DELETED, NOON))
    assert stored_endpoint(session, deleted.id) == deleted
    session.db.close()
    assert await scene.store.woken(scene.leases) == [scene.lane]
    assert await scene.store.read(AllTasksOf(scene.application.id)) == [
        discarding(deleted, ENVIRONMENT)
    ]
