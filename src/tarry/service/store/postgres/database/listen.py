"""Listen for notifications of new work. They only save time: the tables hold all the facts."""

import asyncio
from contextlib import suppress

from tarry.errors import StoreError
from tarry.service.store.contract import Nudge
from tarry.service.store.postgres.database.pool import Connection, Database, connect

CHANNEL = "tarry"
RECONNECT_SECONDS = 1.0
"""Seconds before the next try to connect."""


class Listening:
    """Listens on its own connection once a nudge was added.

    Behind a pooler no notifications arrive, so the caller must poll there.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._nudges: list[Nudge] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, nudge: Nudge) -> None:
        """Call `nudge()` from now on."""
        self._nudges.append(nudge)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep_listening())

    async def ended(self) -> None:
        """Wait until it has stopped listening, as it does behind a pooler."""
        if self._task is not None:
            await self._task

    async def close(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _keep_listening(self) -> None:
        """Listen on a connection of its own; reconnect if it is lost. End behind a pooler."""
        while True:
            with suppress(StoreError):
                connection = await connect(self._database.address, pooler=self._database.pooler)
                try:
                    if connection.pooler:
                        return
                    await self._listen(connection)
                finally:
                    connection.terminate()
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen(self, connection: Connection) -> None:
        """Listen until the connection is gone."""
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _: gone.set())
        with suppress(Exception):  # whatever happened, this connection is of no use
            await connection.add_listener(CHANNEL, self._wake_loops)
            self._nudge_all()  # for wake-ups from before it listened
            await gone.wait()

    def _wake_loops(self, *_: object) -> None:
        """Wake the waiting loops; asyncpg calls this with each notification."""
        self._nudge_all()

    def _nudge_all(self) -> None:
        """Call all functions that wait for wake-ups."""
        for nudge in self._nudges:
            nudge()
