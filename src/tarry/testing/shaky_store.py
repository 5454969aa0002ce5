"""A store that takes its time, and at times cannot be reached: what a dispatcher lives with."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar, cast

from tarry.errors import StoreUnavailable
from tarry.service.store.contract import Store


class Shaky:
    """Stands before a store. `latency` is how long a call takes, half of it before it is done.

    While it is `away` every call fails, and while it is `stuck` none ends. With `forgets` a call is
    done and fails all the same, as when the connection is lost at the commit.
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
        """It, as a store."""
        return cast("Store", self)

    def stick(self) -> None:
        """Let no call end until `free`."""
        self._free.clear()

    def free(self) -> None:
        """Let calls end again."""
        self._free.set()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the store has
        """What the store has; what it does takes its time."""
        found = getattr(self._store, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def done(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  whatever it takes
            return await self._done(name, found, *args, **kwargs)

        return done

    async def _done(
        self,
        name: str,
        step: Callable[..., Awaitable[Any]],
        *args: Any,  # noqa: ANN401  whatever it takes
        **kwargs: Any,  # noqa: ANN401  likewise
    ) -> Any:  # noqa: ANN401  whatever it gives
        self.calls += 1
        await self._wait()
        self._check(name)
        answer = await step(*args, **kwargs)
        if self.forgets:
            raise StoreUnavailable(f"{name}: the connection was lost")
        await self._wait()
        return answer

    async def _wait(self) -> None:
        await asyncio.sleep(self._latency() / 2)
        await self._free.wait()

    def _check(self, name: str) -> None:
        if self.away:
            raise StoreUnavailable(f"{name}: nobody is there")


Seen = TypeVar("Seen", bound=Shaky)


class Between(Generic[Seen]):
    """Puts a shaky store between a dispatcher and its own, and has it at hand as `shaky`."""

    def __init__(self, make: Callable[[Store], Seen]) -> None:
        self._make = make
        self.shaky: Seen

    def __call__(self, store: Store) -> Store:
        """What the dispatcher sees."""
        self.shaky = self._make(store)
        return self.shaky.store


def slow(latency: float) -> Between[Shaky]:
    """One between them that takes so many seconds for each call."""
    return Between(lambda store: Shaky(store, latency=lambda: latency))
