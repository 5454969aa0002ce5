"""A PostgreSQL server as the store of histories, in real time.

Every process of a history has connections of its own, under its own name.
"""

import asyncio
import threading
import time
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote
from uuid import uuid4

import psycopg
from msgspec.structs import replace
from psycopg.sql import SQL, Identifier

from tarry.errors import StoreUnavailable
from tarry.service.model.endpoint import Endpoint
from tarry.service.store.postgres.database import address
from tarry.service.store.postgres.database.pool import Database
from tarry.service.store.postgres.store import CONNECTIONS, PostgresStore
from tarry.testing.postgres import Cluster
from tests.simulation.log import Accepted, EndpointChanged, Entry, Requested
from tests.simulation.loop import Process
from tests.simulation.planted.bug import Commit
from tests.simulation.store_link import StoreLink

if TYPE_CHECKING:
    from tarry.service.store.contract import Store

AWAY_FOR = 120.0
"""For how many seconds an observer waits for the server to come back."""
_CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
_DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = %s"


class BlockingStore:
    """A store with blocking calls: its work is done in a thread of its own.

    It only observes, so it waits while the server is unavailable.
    """

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._store: PostgresStore = self._wait_for(PostgresStore.open(url, migrate=True))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the store has
        """Return a method of the store that does not wait for others."""
        step = getattr(self._store, name)

        async def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  whatever it takes and gives
            away_at = time.monotonic() + AWAY_FOR
            while True:
                try:
                    return self._wait_for(step(*args, **kwargs))
                except StoreUnavailable:
                    if time.monotonic() > away_at:
                        raise

        return call

    def _wait_for(self, program: Any) -> Any:  # noqa: ANN401  a coroutine, and its result
        return asyncio.run_coroutine_threadsafe(program, self._loop).result(AWAY_FOR)

    def stop(self) -> None:
        """Close the store and end the thread."""
        self._wait_for(self._store.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class PostgresBase:
    """A database of its own in a server that others may use at the same time."""

    data = None

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._restarts = ThreadPoolExecutor(1)  # one after the other: a start must not meet a stop
        self._name = f"history_{uuid4().hex}"
        self._ask(SQL("CREATE DATABASE {} TEMPLATE template0").format(Identifier(self._name)))
        self._observer = BlockingStore(cluster.url_of(self._name))
        self.store = cast("Store", self._observer)
        self.deadlocks = 0
        """How many deadlocks the server has counted; known once the base is closed."""

    def connect(self, process: Process) -> PostgresStore:
        """Return a store for one process."""
        named = f"{self._cluster.url_of(self._name)}&application_name={quote(self._alias(process))}"
        return PostgresStore(Database(address.read(named), size=CONNECTIONS))

    def cut(self, process: Process) -> None:
        """Break all connections of a process."""
        with self._server() as server:
            server.execute(_CUT, [self._alias(process)])

    def restart(self) -> None:
        """Stop the server and start it again, while everything else goes on."""
        asyncio.get_running_loop().run_in_executor(self._restarts, self._cluster.restart)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Prepare nothing."""
        yield

    def forget(self, worker: str) -> None:
        """Do nothing: the leases of a killed worker end by themselves."""

    def snapshot(self) -> None:
        """Return None: there is no standby, so nothing can be lost."""

    def close(self) -> None:
        """Read how many deadlocks there were, and drop the database."""
        self._restarts.shutdown()
        self._observer.stop()
        with self._server() as server:
            server.execute(
                SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(Identifier(self._name))
            )
            for process in server.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = %s", [self._name]
            ).fetchall():
                server.execute("SELECT pg_terminate_backend(%s, 5000)", process)
            ((self.deadlocks,),) = server.execute(_DEADLOCKS, [self._name]).fetchall()
            server.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(self._name)))

    def _alias(self, process: Process) -> str:
        return f"{process.name} of {self._name}"

    def _ask(self, statement: Any) -> None:  # noqa: ANN401  as psycopg takes it
        with self._server() as server:
            server.execute(statement)

    @contextmanager
    def _server(self) -> Iterator["psycopg.Connection[Any]"]:
        """Connect to the server, as soon as it is available."""
        with self._dial() as connection:
            yield connection

    def _dial(self) -> "psycopg.Connection[Any]":
        away_at = time.monotonic() + AWAY_FOR
        while True:
            try:
                return psycopg.connect(self._cluster.url, autocommit=True)
            except psycopg.OperationalError:
                if time.monotonic() > away_at:
                    raise
                time.sleep(0.05)


def by_time(
    entries: Sequence[Entry],
    deliveries: Container[tuple[str, str]] = (),
    *,
    longest: float = 0.0,
) -> list[Entry]:
    """Return a log sorted by time, with each message accepted before it is requested.

    A commit is observed when its answer arrives, and a worker may have been quicker. A call that
    adds a message or an endpoint took `longest` seconds at the most: if two are observed within
    that time, `deliveries` show which of them was first.
    """
    first: dict[str, float] = {}
    added: dict[str, EndpointChanged] = {}
    for entry in entries:
        if isinstance(entry, Requested):
            first.setdefault(entry.message, entry.at)
        elif isinstance(entry, EndpointChanged):
            added.setdefault(entry.endpoint.id, entry)

    def corrected(entry: Accepted) -> Accepted:
        beside = [
            change.endpoint.id
            for change in added.values()
            if abs(change.at - entry.at) < longest
            and change.endpoint.application == entry.application
        ]
        certain = [one for one in entry.endpoints if one not in beside]
        got_it = [one for one in beside if (entry.message, one) in deliveries]
        at = min(entry.at, first.get(entry.message, entry.at))
        return replace(entry, at=at, endpoints=(*certain, *got_it))

    true = [corrected(entry) if isinstance(entry, Accepted) else entry for entry in entries]
    return sorted(true, key=lambda entry: entry.at)


class PostgresLink(StoreLink):
    """A process's connection to a real server, with real delays."""

    base: PostgresBase
    longest = 0.0
    """The time that its longest call took to add a message or an endpoint."""

    def cut(self) -> None:
        """Break all connections of the process, as its end does."""
        self.base.cut(self._process)

    async def close(self) -> None:
        """Close the connections, whatever state they are in."""
        with suppress(Exception):
            async with asyncio.timeout(AWAY_FOR):
                await cast("PostgresStore", self._store).close()

    def _call(
        self, name: str, commit: Commit, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> "asyncio.Future[Any]":
        """Make a call, maybe later, and maybe without an answer."""
        del commit  # what it makes of a call cannot wait
        self._count(name, args)
        return self._loop.create_task(self._make(name, args, kwargs))

    async def _make(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401  the store's answer
        now = self._loop.time()
        delay = self._delay(now)
        if delay:
            await asyncio.sleep(delay)
        now = self._loop.time()
        error = self._refusal(name, args, now)
        if error is not None:
            raise error
        answer = await getattr(self._store, name)(*args, **kwargs)
        if name == "add" or (name == "put" and isinstance(answer, Endpoint)):
            self.longest = max(self.longest, self._loop.time() - now)
        self._observe(self._process, name, args, kwargs, answer)
        if self._is_forgetful(now):
            raise StoreUnavailable(f"{name}: the connection was lost")
        return answer
