"""A pool of connections to PostgreSQL, opened when needed and dropped after a failure.

No connection keeps state from one transaction to the next, so a pooler may be in between.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from typing import Any, TypeVar

import asyncpg  # type: ignore[import-untyped]  # it ships no types

from tarry.call.api import retry
from tarry.call.policy import Policy
from tarry.core.backoff import Exponential
from tarry.errors import ServiceError, StoreError, StoreUnavailable
from tarry.service.store.postgres.database import faults
from tarry.service.store.postgres.database.address import Address
from tarry.service.store.postgres.database.faults import Stale

Connection = Any
"""A connection of asyncpg, which ships no types."""
Answer = TypeVar("Answer")
Work = Callable[[Connection], Awaitable[Answer]]

CONFLICT_RETRIES = Policy(
    attempts=6, within=5.0, backoff=Exponential(base=0.01, cap=0.5), nested=True, name="tarry store"
)
"""For a transaction that lost against another one, for example in a deadlock."""

CONNECT_WITHIN = 5.0
ANSWER_WITHIN = 30.0
DIAL_PAUSE = 0.25
"""Seconds after a failed connect in which no other connect is tried, so that a server that comes
back does not get a rush of connections."""

ABANDONED = "idle_in_transaction_session_timeout"
ABANDONED_AFTER = "5000"
"""Milliseconds after which the server ends an idle transaction, because its process was stopped or
its host is gone: its locks would keep other workers from taking over its shards."""
SETTINGS = {
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "synchronous_commit": "on",
    ABANDONED: ABANDONED_AFTER,
}
"""The queries are short: JIT compilation would take longer than running them, and so would a new
plan for each call. All queries use indexes, because a plan made while a partition was empty must
still be good when it is full. A commit must be on disk, here and on a synchronous standby, whatever
the defaults of the database or the role are."""
AT_CONNECT = {**SETTINGS, "default_transaction_isolation": "read committed"}
"""Read committed: a query sees earlier commits. Poolers refuse these settings: see `LOCALLY`."""
LOCALLY = "; ".join(f"SET LOCAL {name} = {value}" for name, value in SETTINGS.items())


class Mode(StrEnum):
    """The kind of transaction that work runs in."""

    WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
    READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    SINGLE = ""  # one statement, which is its own transaction


class Database:
    """A pool of at most `size` connections, and one more for urgent work.

    A lease that is not renewed in time is lost. So a renewal never waits for a connection
    behind slow reads.
    """

    def __init__(self, address: Address, *, size: int = 4) -> None:
        self.address = address
        self.pooler = address.pooler
        self._idle: list[Connection] = []
        self._slots = asyncio.Semaphore(size)
        self._reserved = asyncio.Semaphore(1)
        self._dial_at = 0.0
        self._down: StoreError | None = None
        self._closed = False
        self._retried = retry(CONFLICT_RETRIES, on=faults.contended)(self._run_once)

    async def run(
        self, work: Work[Answer], mode: Mode = Mode.WRITE, *, urgent: bool = False
    ) -> Answer:
        """Run the work in one transaction and return its answer once that is committed.

        If it loses against other transactions, the work runs again, so it must be repeatable.
        Raises StoreUnavailable if it is not certain that the commit was made. Work that is `urgent`
        must be short: all urgent work shares one connection.
        """
        try:
            answer: Answer = await self._retried(work, mode, self._slots_for(urgent=urgent))
        except (*faults.DRIVER_ERRORS, UnicodeError, Stale, faults.Unsure) as error:
            raise faults.translate(error) from error
        return answer

    async def fetch(self, sql: str, *arguments: object) -> list[Any]:
        """Return the rows of a query that changes nothing."""

        async def fetch_rows(connection: Connection) -> list[object]:
            rows: list[object] = await connection.fetch(sql, *arguments)
            return rows

        return await self.run(fetch_rows, Mode.SINGLE)

    async def execute(self, sql: str, *arguments: object) -> list[Any]:
        """Run one statement that changes rows; return the rows that it returns."""
        return await self.fetch(sql, *arguments)

    async def urgent(self, sql: str, *arguments: object) -> list[Any]:
        """Return the rows of one short statement that must not wait for a connection."""

        async def fetch_rows(connection: Connection) -> list[Any]:
            rows: list[Any] = await connection.fetch(sql, *arguments)
            return rows

        return await self.run(fetch_rows, Mode.SINGLE, urgent=True)

    async def close(self) -> None:
        """Close the idle connections now, and the others when they become idle."""
        self._closed = True
        while self._idle:
            connection = self._idle.pop()
            with suppress(Exception):  # the connection is gone in any case
                await connection.close(timeout=1.0)

    def _slots_for(self, *, urgent: bool) -> asyncio.Semaphore:
        """Return the semaphore that limits such calls: urgent ones have places of their own."""
        return self._reserved if urgent else self._slots

    async def _run_once(self, work: Work[Answer], mode: Mode, slots: asyncio.Semaphore) -> Answer:
        """Run `work` once, in a transaction or, in SINGLE mode, without; return its answer."""
        async with self._connection(slots) as connection:
            connection.unsure = ""
            connection.commits = mode is Mode.SINGLE and not self.pooler
            if connection.commits:
                answer = await work(connection)
            else:
                # A pooler may run each statement on another server, except within a transaction.
                begin = mode.value or Mode.WRITE.value
                await connection.execute(f"{begin}; {LOCALLY}" if self.pooler else begin)
                answer = await work(connection)
                connection.commits = True
                await connection.execute("COMMIT")
            if connection.unsure:
                raise faults.Unsure(connection.unsure)
            return answer

    @asynccontextmanager
    async def _connection(self, slots: asyncio.Semaphore) -> AsyncIterator[Connection]:
        """Provide a connection for one transaction, with nothing else running on it."""
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                await slots.acquire()
        except TimeoutError as error:
            raise StoreUnavailable("all connections to PostgreSQL are busy") from error
        connection = None
        try:
            connection = await self._take_connection()
            yield connection
        except (asyncpg.PostgresError, ServiceError, Stale) as error:
            if await _rolled_back(connection, error):
                self._give_back(connection)
            else:
                self._drop(connection, *self._others_like_it(error))
            raise
        except BaseException:
            # Its state is unknown: a cancelled wait, a lost connection, or a timeout.
            self._drop(connection)
            raise
        else:
            self._give_back(connection)
        finally:
            slots.release()

    async def _take_connection(self) -> Connection:
        """Return an idle connection, or a new one."""
        if self._closed:
            raise StoreError("the store is closed")
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return await self._dial()

    async def _dial(self) -> Connection:
        """Open a connection; for a moment after a failure, fail at once without trying."""
        now = asyncio.get_running_loop().time()
        if self._down is not None and now < self._dial_at:
            raise StoreUnavailable(
                getattr(self._down, "reason", str(self._down)), max(0.1, self._dial_at - now)
            ) from self._down
        try:
            connection = await connect(self.address, pooler=self.pooler)
        except StoreUnavailable as error:
            self._down = error
            self._dial_at = asyncio.get_running_loop().time() + DIAL_PAUSE
            raise
        self._down = None
        self.pooler = connection.pooler
        return connection

    def _give_back(self, connection: Connection) -> None:
        """Keep a connection for the next call, unless it or the pool is closed."""
        if self._closed or connection.is_closed():
            self._drop(connection)
        else:
            self._idle.append(connection)

    def _others_like_it(self, error: Exception) -> list[Connection]:
        """Return the idle connections to the same server, if that server is unfit by now."""
        if getattr(error, "sqlstate", None) not in faults.NOT_OURS:
            return []
        idle, self._idle = self._idle, []
        return idle

    @staticmethod
    def _drop(*connections: Connection | None) -> None:
        """Close connections at once, without waiting for the server."""
        for connection in connections:
            if connection is not None:
                connection.terminate()


class Session(asyncpg.connection.Connection):  # type: ignore[misc]  # asyncpg ships no types
    """A connection that notes when a commit did not wait for the standby.

    The server then sends a warning in its own language. Its detail says that the commit was made
    only here. Other warnings of a commit have no detail, but for example a hint that the
    database must be vacuumed soon.
    """

    # asyncpg's own class has slots; these are additional.
    __slots__ = ("commits", "pooler", "unsure")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.unsure = ""
        self.commits = self.pooler = False
        self.add_log_listener(self._note_warning)

    # asyncpg calls listeners in the order of the server's messages: before the commit's answer.
    def _note_warning(self, _: object, message: Any) -> None:  # noqa: ANN401  asyncpg ships no types
        """Note a warning during the commit: the commit may not be safe on a standby."""
        if self.commits and message.severity_en == "WARNING" and message.detail:
            self.unsure = message.message


async def connect(address: Address, *, pooler: bool | None) -> Connection:
    """Return a connection to a suitable server; StoreError says why there is none."""
    try:
        connection = await _connect(address, cached=pooler is False)
        _refuse_unfit_server(connection, address.shown)
        if pooler is None:
            # A pooler reports its own number as the backend's process id, for cancelling queries.
            async with connection.transaction():
                backend = await connection.fetchval("SELECT pg_backend_pid()")
            pooler = backend != connection.get_server_pid()
            if not pooler:
                await connection.close()
                connection = await _connect(address, cached=True)
    except (*faults.DRIVER_ERRORS, ValueError) as error:
        raise faults.translate_connecting(error, address.shown, address.database) from error
    connection.pooler = pooler
    return connection


def _refuse_unfit_server(connection: Connection, shown_url: str) -> None:
    """Close the connection and raise StoreError if the server's version or encoding is unfit."""
    try:
        faults.refuse_old(connection.get_server_version()[:2], shown_url)
        faults.refuse_encoding(connection.get_settings().server_encoding, shown_url)
    except StoreError:
        connection.terminate()
        raise


async def _connect(address: Address, *, cached: bool) -> Connection:
    """Open a connection to the database; `cached` keeps prepared statements between queries."""
    return await asyncpg.connect(
        address.url,
        connection_class=Session,
        timeout=CONNECT_WITHIN,
        command_timeout=ANSWER_WITHIN,
        statement_cache_size=200 if cached else 0,
        server_settings=AT_CONNECT if cached else None,
        max_cached_statement_lifetime=0,
    )


async def _rolled_back(connection: Connection | None, error: Exception) -> bool:
    """Return whether a connection can be used again after the server or the work failed."""
    if connection is None or connection.is_closed():
        return False
    if getattr(error, "sqlstate", None) in faults.NOT_OURS:
        return False
    if connection.is_in_transaction():
        try:
            await connection.execute("ROLLBACK")
        except faults.DRIVER_ERRORS:
            return False
    return True
