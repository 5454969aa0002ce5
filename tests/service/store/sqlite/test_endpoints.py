"""Whoever changes an endpoint makes its application's version grow."""

import time
from pathlib import Path

import pytest

from tarry.service.model.endpoint import Secret, Standing
from tarry.service.store.sqlite.endpoints import save_endpoint
from tarry.service.store.sqlite.session import Session
from tarry.testing.samples import a_message, an_endpoint
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_a_saved_endpoint_is_found_and_noticed(scene: Scene, path: Path) -> None:
    session = Session(path, time.time)
    before = session.tenant(scene.application.id)
    saved = an_endpoint(
        scene.application,
        id=scene.endpoint.id,
        lane=scene.lane,
        standing=Standing.DISABLED,
        secrets=(Secret(b"sealed"),),
    )
    assert await scene.store.sealed() == []
    save_endpoint(session, saved)
    after = session.tenant(scene.application.id)
    session.db.close()
    assert before
    assert after
    assert after.audience.version == before.audience.version + 1
    assert after.audience.goals(a_message(scene.application)) == ((scene.lane, True),)
    assert await scene.store.endpoint(scene.application.id, saved.id) == saved
    assert await scene.store.sealed() == [saved]
