"""The base of all topics of the suite: the fixtures, and how the tests run."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tarry.service.store.contract import Store
from tarry.testing.store_contract.scene import Scene

Later = Callable[[float], Awaitable[None]]
"""Lets this many seconds pass on the clock of the leases."""


@pytest.mark.anyio
class Topic:
    """Tests of a store; a subclass must provide the fixtures `store` and `later`.

    `store` returns an empty store, `later` lets time pass for its leases. `other` is the same
    database opened once more, by a process that only adds and reads; by default it is `store`.
    """

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run with asyncio, which stores need."""
        return "asyncio"

    @pytest.fixture
    async def store(self) -> Store:
        """Return an empty store."""
        raise NotImplementedError("a test of a store must have a fixture `store`")

    @pytest.fixture
    async def later(self) -> Later:
        """Return a function that lets time pass for the leases."""
        raise NotImplementedError("a test of a store must have a fixture `later`")

    @pytest.fixture
    async def other(self, store: Store) -> Store:
        """Return the same database as another process sees it."""
        return store

    @pytest.fixture
    async def scene(self, store: Store) -> AsyncIterator[Scene]:
        """Provide an application with an endpoint; check the counts of its lanes at the end."""
        scene = await Scene.set_up(store)
        yield scene
        await scene.check_counts()
