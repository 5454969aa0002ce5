"""What the topics of the suite have in common: the fixtures, and how their tests run."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tarry.service.store.contract import Store
from tarry.testing.store_contract.scene import Scene

Later = Callable[[float], Awaitable[None]]
"""Lets so many seconds of the time pass that leases go by."""


@pytest.mark.anyio
class Topic:
    """Tests of a store, which whoever binds them must hand in.

    `store` gives an empty store, `later` lets the time of its leases pass. `other` is the same
    database opened once more, by a process that only adds and reads; by default it is `store`.
    """

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Stores work with asyncio only."""
        return "asyncio"

    @pytest.fixture
    async def store(self) -> Store:
        """A store with nothing in it."""
        raise NotImplementedError("a test of a store must have a fixture `store`")

    @pytest.fixture
    async def later(self) -> Later:
        """A way to let the time of leases pass."""
        raise NotImplementedError("a test of a store must have a fixture `later`")

    @pytest.fixture
    async def other(self, store: Store) -> Store:
        """The same store, as somebody else sees it."""
        return store

    @pytest.fixture
    async def scene(self, store: Store) -> AsyncIterator[Scene]:
        """An application with an endpoint; in the end the counts of its lanes must be right."""
        scene = await Scene.set_up(store)
        yield scene
        await scene.check_counts()
