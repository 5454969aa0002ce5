"""Wait until a connection to a database waits for another one's lock."""

import asyncio

import psycopg


async def someone_waits(url: str) -> None:
    """Return as soon as somebody waits for a lock in this database."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as watch:
        while True:
            waiting = await watch.execute(
                "SELECT FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if await waiting.fetchone() is not None:
                return
            await asyncio.sleep(0.005)
