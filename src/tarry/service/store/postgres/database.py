"""Connections to PostgreSQL: a few of them, made when needed and dropped when they have failed.

No connection keeps anything from one transaction to the next, so that a pooler may be in between.
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
from tarry.service.store.postgres import faults
from tarry.service.store.postgres.address import Address
from tarry.service.store.postgres.faults import Stale

Connection = Any
"""asyncpg's; it ships no types."""
Answer = TypeVar("Answer")
Work = Callable[[Connection], Awaitable[Answer]]

AGAIN = Policy(
    attempts=6, within=5.0, backoff=Exponential(base=0.01, cap=0.5), nested=True, name="tarry store"
)
"""When a transaction lost against another (a deadlock, say)."""

CONNECT_WITHIN = 5.0
ANSWER_WITHIN = 30.0
DIAL_PAUSE = 0.25
"""Seconds after a connection could not be made in which nobody else tries: a server that comes
back is not met by a crowd."""

ABANDONED = "idle_in_transaction_session_timeout"
ABANDONED_AFTER = "5000"
"""Milliseconds after which the server ends a transaction whose process was stopped, or whose host
is gone: its locks would keep others from taking its shards over."""
SETTINGS = {
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "synchronous_commit": "on",
    ABANDONED: ABANDONED_AFTER,
}
"""Queries here are short: compiling them would take longer, and so would planning each anew. All
go along indexes: a plan made while a partition was empty must do when it is full. And what is
committed is on disk, here and on the standby that the server waits for, whatever the default of
the database or the role."""
AT_CONNECT = {**SETTINGS, "default_transaction_isolation": "read committed"}
"""Each query sees what was committed before it. Poolers do not take these: see the next."""
LOCALLY = "; ".join(f"SET LOCAL {name} = {value}" for name, value in SETTINGS.items())


class Mode(StrEnum):
    """What work is done in."""

    WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
    READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    SINGLE = ""  # one statement, which is a transaction by itself


class Database:
    """A database and the connections to it, at most `size` and one for what is urgent.

    A lease that is not renewed in time is lost. So its renewal never waits for a connection behind
    reads that take long.
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
        self._retried = retry(AGAIN, on=faults.contended)(self._once)

    async def run(
        self, work: Work[Answer], mode: Mode = Mode.WRITE, *, urgent: bool = False
    ) -> Answer:
        """Do the work in one transaction; again if it lost against others, so it must be able to.

        What it returns is committed. StoreUnavailable if that is not sure. Work that is `urgent`
        must be short: it has one connection for all of its kind.
        """
        try:
            answer: Answer = await self._retried(work, mode, self._slots_for(urgent=urgent))
        except (*faults.FAILED, UnicodeError, Stale, faults.Unsure) as error:
            raise faults.translate(error) from error
        return answer

    async def fetch(self, sql: str, *arguments: object) -> list[Any]:
        """The rows of a query that changes nothing."""

        async def ask(connection: Connection) -> list[Any]:
            rows: list[Any] = await connection.fetch(sql, *arguments)
            return rows

        return await self.run(ask, Mode.SINGLE)

    async def execute(self, sql: str, *arguments: object) -> list[Any]:
        """The rows that one statement returns that changes something."""
        return await self.fetch(sql, *arguments)

    async def urgent(self, sql: str, *arguments: object) -> list[Any]:
        """Return the rows of one short statement that must not wait for a connection."""

        async def ask(connection: Connection) -> list[Any]:
            rows: list[Any] = await connection.fetch(sql, *arguments)
            return rows

        return await self.run(ask, Mode.SINGLE, urgent=True)

    async def close(self) -> None:
        """Let go of the connections that are idle now, and of the others when they are."""
        self._closed = True
        while self._idle:
            connection = self._idle.pop()
            with suppress(Exception):  # it is gone, one way or the other
                await connection.close(timeout=1.0)

    def _slots_for(self, *, urgent: bool) -> asyncio.Semaphore:
        return self._reserved if urgent else self._slots

    async def _once(self, work: Work[Answer], mode: Mode, slots: asyncio.Semaphore) -> Answer:
        async with self._connection(slots) as connection:
            connection.unsure = ""
            connection.commits = mode is Mode.SINGLE and not self.pooler
            if connection.commits:
                answer = await work(connection)
            else:
                # A pooler may give each statement to another server, but for those of a transaction
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
        """A connection for one transaction, with nothing else under way."""
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                await slots.acquire()
        except TimeoutError as error:
            raise StoreUnavailable("all connections to PostgreSQL are busy") from error
        connection = None
        try:
            connection = await self._take()
            yield connection
        except (asyncpg.PostgresError, ServiceError, Stale) as error:
            if await _rolled_back(connection, error):
                self._give_back(connection)
            else:
                self._drop(connection, *self._others_like_it(error))
            raise
        except BaseException:
            # Nobody knows what is under way on it: a cancelled wait, a lost line, a time limit.
            self._drop(connection)
            raise
        else:
            self._give_back(connection)
        finally:
            slots.release()

    async def _take(self) -> Connection:
        if self._closed:
            raise StoreError("the store is closed")
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return await self._dial()

    async def _dial(self) -> Connection:
        """Make a connection; who just found that it cannot be done spares others the attempt."""
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
        if self._closed or connection.is_closed():
            self._drop(connection)
        else:
            self._idle.append(connection)

    def _others_like_it(self, error: Exception) -> list[Connection]:
        """Those that lead to the same server, if it is not the right one any more."""
        if getattr(error, "sqlstate", None) not in faults.NOT_OURS:
            return []
        idle, self._idle = self._idle, []
        return idle

    @staticmethod
    def _drop(*connections: Connection | None) -> None:
        for connection in connections:
            if connection is not None:
                connection.terminate()


class Session(asyncpg.connection.Connection):  # type: ignore[misc]  # asyncpg ships no types
    """A connection that notes when the server did not wait for its standby.

    Such a commit is told from others by a warning, which comes in the server's language. Its detail
    says that the commit was made here only. Others that a commit may give have none: that the
    database must be vacuumed soon, say, for which there is a hint.
    """

    # asyncpg's own has slots; these are ours.
    __slots__ = ("commits", "pooler", "unsure")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.unsure = ""
        self.commits = self.pooler = False
        self.add_log_listener(self._note)

    # Its callbacks come in the order of what the server sent: before the answer to the commit.
    def _note(self, _: object, message: Any) -> None:  # noqa: ANN401  asyncpg ships no types
        if self.commits and message.severity_en == "WARNING" and message.detail:
            self.unsure = message.message


async def connect(address: Address, *, pooler: bool | None) -> Connection:
    """One connection, to a server that will do; StoreError says why there is none."""
    try:
        connection = await _connect(address, cached=pooler is False)
        _refuse_unfit(connection, address.shown)
        if pooler is None:
            # A pooler gives out numbers of its own for what cancels a query, not a process's.
            async with connection.transaction():
                behind = await connection.fetchval("SELECT pg_backend_pid()")
            pooler = behind != connection.get_server_pid()
            if not pooler:
                await connection.close()
                connection = await _connect(address, cached=True)
    except (*faults.FAILED, ValueError) as error:
        raise faults.translate_connecting(error, address.shown, address.database) from error
    connection.pooler = pooler
    return connection


def _refuse_unfit(connection: Connection, shown: str) -> None:
    try:
        faults.refuse_old(connection.get_server_version()[:2], shown)
        faults.refuse_encoding(connection.get_settings().server_encoding, shown)
    except StoreError:
        connection.terminate()
        raise


async def _connect(address: Address, *, cached: bool) -> Connection:
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
    """Whether a connection is as good as new after the server or the work refused something."""
    if connection is None or connection.is_closed():
        return False
    if getattr(error, "sqlstate", None) in faults.NOT_OURS:
        return False
    if connection.is_in_transaction():
        try:
            await connection.execute("ROLLBACK")
        except faults.FAILED:
            return False
    return True
