"""Run single tests of the suite on a memory store that breaks a rule on purpose."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.scene import Scene

Try = Callable[..., None]


@pytest.fixture
def try_on() -> Try:
    """Run one test of a topic, and the check of the scene after it."""

    def run(
        topic: type, name: str, make: type[MemoryStore] = MemoryStore, **parameters: object
    ) -> None:
        test = getattr(topic(), name)
        asyncio.run(_run(test, make, parameters))

    return run


async def _run(
    test: Callable[..., Awaitable[None]], make: type[MemoryStore], parameters: dict[str, Any]
) -> None:
    now = 1_000.0

    async def later(seconds: float) -> None:
        nonlocal now
        now += seconds

    store = make(lambda: now)
    scene = await Scene.set_up(store) if "scene" in inspect.signature(test).parameters else None
    fixtures = {"store": store, "other": store, "later": later, "scene": scene, **parameters}
    await test(**{name: fixtures[name] for name in inspect.signature(test).parameters})
    if scene is not None:
        await scene.check_counts()
