"""A data key of the memory store is gone with its application."""

import pytest

from tarry.service.store.kinds import Applications, DataKeys
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import ENVIRONMENT, NOON, a_data_key
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_only_the_keys_of_other_applications_stay() -> None:
    scene, other = await Scene.set_up(MemoryStore()), await Scene.set_up(MemoryStore())
    await scene.store.put(other.application)
    staying = a_data_key(other.application)
    for data_key in (a_data_key(scene.application), staying):
        await scene.store.create(data_key)
    await scene.store.delete(Applications(ENVIRONMENT), scene.application.id, now=NOON)
    assert await scene.store.read(DataKeys()) == [staying]
