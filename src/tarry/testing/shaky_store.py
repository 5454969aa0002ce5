"""A store that is slow, and at times unreachable, for tests of the dispatcher."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar, cast

from tarry.errors import StoreUnavailable
from tarry.service.store.contract import Store


class Shaky:
    """Wraps a store. `latency` returns how long a call takes, half of it before the work.

    While it is `away`, every call fails. While it is stuck, no call returns. With `forgets`, a call
    does its work and fails all the same, as when the connection is lost at the commit.
    """

    def __init__(self, store: Store, *, latency: Callable[[], float] = lambda: 0.0) -> None:
        self._store = store
        self._latency = latency
        self._free = asyncio.Event()
        self._free.set()
        self.away = self.forgets = False
        self.calls = 0

    @property
    def store(self) -> Store:
        """This object, typed as a store."""
        return cast("Store", self)

    def stick(self) -> None:
        """Block all calls until `free`."""
        self._free.clear()

    def free(self) -> None:
        """Let calls return again."""
        self._free.set()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  any attribute of the store
        """Return an attribute of the store; its coroutine methods become slow and shaky."""
        attribute = getattr(self._store, name)
        if not inspect.iscoroutinefunction(attribute):
            return attribute

        async def shaky_call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  any arguments
            return await self._call_shakily(name, attribute, *args, **kwargs)

        return shaky_call

    async def _call_shakily(
        self,
        name: str,
        step: Callable[..., Awaitable[Any]],
        *args: Any,  # noqa: ANN401  any arguments
        **kwargs: Any,  # noqa: ANN401  likewise
    ) -> Any:  # noqa: ANN401  any result
        """Call a method of the store after a delay; it may fail before or after it took effect."""
        self.calls += 1
        await self._wait()
        self._before_call(name)
        answer = await step(*args, **kwargs)
        if self.forgets:
            raise StoreUnavailable(f"{name}: the connection was lost")
        await self._wait()
        return answer

    async def _wait(self) -> None:
        """Wait half the store's latency, and until the store is available."""
        await asyncio.sleep(self._latency() / 2)
        await self._free.wait()

    def _before_call(self, name: str) -> None:
        """Act before a method is called: raise StoreUnavailable while the store is away."""
        if self.away:
            raise StoreUnavailable(f"{name}: the store cannot be reached")


AnyShaky = TypeVar("AnyShaky", bound=Shaky)


class Between(Generic[AnyShaky]):
    """Wraps a dispatcher's store in a shaky one, which is then available as `shaky`."""

    def __init__(self, make: Callable[[Store], AnyShaky]) -> None:
        self._make = make
        self.shaky: AnyShaky

    def __call__(self, store: Store) -> Store:
        """Return the store that the dispatcher sees."""
        self.shaky = self._make(store)
        return self.shaky.store


def slow(latency: float) -> Between[Shaky]:
    """Return a wrapper that makes each call take this many seconds."""
    return Between(lambda store: Shaky(store, latency=lambda: latency))
