"""A process's connection to the store: every call takes time, and faults may hit it.

A call travels to the store, is committed there at one instant, and its answer travels back. If the
process is killed or suspended in the meantime, the commit is made nevertheless.
"""

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from random import Random
from typing import Any, cast

from msgspec.structs import replace

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.store.contract import Nudge, Server, Store
from tests.simulation.loop import Process, SimulatedLoop
from tests.simulation.planted.bug import Bug, Commit

Observer = Callable[[Process, str, tuple[Any, ...], dict[str, Any], Any], None]
"""Called with every commit: the process, the method, its arguments, and the answer."""

LEASING = frozenset({"lease", "renew"})
"""The methods of the store that give leases and renew them."""
GENERIC = frozenset({"get", "page", "read", "create", "put", "change", "delete", "expunge"})
"""The methods that take a kind or a record. Their calls are counted for each kind."""


class Trouble:
    """The faults of a connection, or of all of them, and until when they last."""

    def __init__(self) -> None:
        self.server_started_at = 0.0
        self.poisoned: dict[str, float] = {}
        """Messages whose settlements are refused until a time."""
        self.end()

    def end(self) -> None:
        """End all faults."""
        self.away_until = self.stuck_until = self.forgetful_until = self.slow_until = 0.0
        self.slowness = 0.0

    def start_server(self, now: float) -> None:
        """Set the start time of the server, because a standby took over."""
        self.server_started_at = now

    def refuse(self, until: float) -> None:
        """Refuse calls: they change nothing."""
        self.away_until = until

    def hold_up(self, until: float) -> None:
        """Delay all calls until then."""
        self.stuck_until = until

    def lose_answers(self, until: float) -> None:
        """Lose answers: a call is committed, and its caller gets an error."""
        self.forgetful_until = until

    def poison(self, message: str, until: float) -> None:
        """Refuse every settlement of a message."""
        self.poisoned[message] = until

    def slow_down(self, until: float, slowness: float) -> None:
        """Make each way up to `slowness` seconds longer."""
        self.slow_until, self.slowness = until, slowness


class Travel:
    """How long calls take: `mean` seconds each way, sometimes much longer."""

    def __init__(self, mean: float, chance: Random) -> None:
        self._mean, self._random = mean, chance.random

    def __call__(self) -> float:
        """Draw how long one way takes."""
        draw = self._random()
        if draw > 0.98:
            return self._mean * 10 * self._random()
        return self._mean * 2 * draw


class StoreLink:
    """Replaces the store for one process."""

    def __init__(  # noqa: PLR0913  what a connection is made of
        self,
        store: Store,
        process: Process,
        loop: SimulatedLoop,
        *,
        travel: Travel,
        troubles: tuple[Trouble, Trouble],
        chance: Random,
        observe: Observer,
        bug: Bug,
        lost_nudges: float = 0.0,
    ) -> None:
        self._store, self._process, self._loop = store, process, loop
        self._travel, self._troubles, self._random = travel, troubles, chance.random
        self._everybody, self._own = troubles
        self._observe, self._bug = observe, bug
        self._lost_nudges = lost_nudges
        self.calls: Counter[str] = Counter()
        self.is_broken = False
        """Whether the connection was cut: its next call fails."""
        self.worker_ids: set[str] = set()
        """The ids by which this process has asked for leases."""
        self.leases_until = 0.0
        """When the last call arrives, or arrived, that may renew its leases."""

    @property
    def process(self) -> str:
        """The name of the process."""
        return self._process.name

    @property
    def store(self) -> Store:
        """The link, as a store."""
        return cast("Store", self)

    def listen(self, nudge: Nudge) -> None:
        """Pass nudges on, a little later; some may be lost, as the contract allows."""

        def pass_on() -> None:
            if self._random() >= self._lost_nudges:
                self._loop.later_in(self._process, self._travel(), nudge)

        self._store.listen(pass_on)

    def server(self) -> asyncio.Future[Any]:
        """Return the store's answer, with the start of the server that answers now."""
        return self._call("server", self._bug.tamper("server", self._server), (), {})

    def _server(self) -> Server:
        server: Server = at_once(self._store.server())
        started_at = max(trouble.server_started_at for trouble in self._troubles)
        return replace(server, started_at=started_at)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the store has
        """Return a method of the store with delays and faults."""
        step = getattr(self._store, name)
        if not _takes_time(getattr(step, "__func__", step)):
            return step

        commit = self._bug.tamper(name, self._commit(name, step))

        def call(*args: Any, **kwargs: Any) -> asyncio.Future[Any]:  # noqa: ANN401  whatever it takes
            return self._call(name, commit, args, kwargs)

        setattr(self, name, call)
        return call

    def _commit(self, name: str, step: Callable[..., Coroutine[Any, Any, Any]]) -> Commit:
        """Return a function that makes a call to the store, and passes it to the observer."""
        observe, process = self._observe, self._process

        def commit(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  whatever it takes and gives
            answer = at_once(step(*args, **kwargs))
            observe(process, name, args, kwargs, answer)
            return answer

        return commit

    def _call(
        self, name: str, commit: Commit, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> asyncio.Future[Any]:
        """Send a call; the future gets its answer."""
        self._count(name, args)
        loop = self._loop
        future: asyncio.Future[Any] = asyncio.Future(loop=loop)
        delay = self._delay(loop.time())
        if name in LEASING:
            self.leases_until = max(self.leases_until, loop.time() + delay)
        loop.later_in(loop.world, delay, self._arrive, future, name, commit, args, kwargs)
        return future

    def _count(self, name: str, args: tuple[Any, ...]) -> None:
        self.calls[f"{name} {type(args[0]).__name__}" if name in GENERIC else name] += 1
        if name == "lease":
            self.worker_ids.add(args[0])

    def _delay(self, now: float) -> float:
        """Return how long a call travels to the store."""
        delay = self._way(now)
        stuck_until = max(self._everybody.stuck_until, self._own.stuck_until)
        return delay if stuck_until <= now else max(delay, stuck_until - now + self._travel())

    def _way(self, now: float) -> float:
        delay = self._travel()
        everybody, own = self._everybody, self._own
        if everybody.slow_until > now:
            delay += everybody.slowness * self._random()
        if own.slow_until > now:
            delay += own.slowness * self._random()
        return delay

    def _arrive(
        self,
        future: asyncio.Future[Any],
        name: str,
        commit: Commit,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Commit a call, unless the store cannot be reached."""
        loop, now = self._loop, self._loop.time()
        answer: Any = None
        error: Exception | None = self._refusal(name, args, now)
        if error is None:
            try:
                answer = commit(*args, **kwargs)
            except Exception as raised:  # noqa: BLE001  whatever it is, the caller gets it
                error = raised
            else:
                if self._is_forgetful(now):
                    error = StoreUnavailable(f"{name}: the connection was lost")
        loop.later_in(loop.world, self._way(now), _resolve, future, answer, error)

    def _is_forgetful(self, now: float) -> bool:
        """Whether the answers of commits are lost."""
        return self._everybody.forgetful_until > now or self._own.forgetful_until > now

    def cut(self) -> None:
        """Break the connection: the next call fails."""
        self.is_broken = True

    def _refusal(self, name: str, args: tuple[Any, ...], now: float) -> StoreError | None:
        """Return the error with which the store refuses a call before it begins, if any."""
        away = self._everybody.away_until > now or self._own.away_until > now
        if away or self.is_broken:
            self.is_broken = False
            return StoreUnavailable(f"{name}: nobody is there")
        if name == "settle" and self._is_poisoned(args[0], now):
            return StoreError("settle: one of them cannot be written")
        return None

    def _is_poisoned(self, settlements: Sequence[Settlement | Resent], now: float) -> bool:
        return any(
            trouble.poisoned.get(one.message if isinstance(one, Settlement) else "", 0.0) > now
            for trouble in self._troubles
            if trouble.poisoned
            for one in settlements
        )


@cache
def _takes_time(method: Callable[..., object]) -> bool:
    """Whether a method of the store is a coroutine function. Asking that takes a while."""
    return inspect.iscoroutinefunction(method)


def _resolve(future: asyncio.Future[Any], answer: object, error: Exception | None) -> None:
    if future.done():  # the caller no longer waits
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)


def at_once(program: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401  whatever it returns
    """Run a coroutine that never waits, and return its result."""
    try:
        program.send(None)
    except StopIteration as done:
        return done.value
    program.close()
    raise AssertionError(f"{program!r} had to wait for something")
