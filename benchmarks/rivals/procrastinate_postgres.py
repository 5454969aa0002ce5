"""Procrastinate on PostgreSQL, sending with aiohttp: two processes of 16 jobs at a time.

Kept, all of it on disk: each job, that it was begun, and how and when it ended. Not the status.
Enqueued by one process, sixteen at a time, each job with a commit of its own.
"""

import asyncio
import time

import aiohttp
import procrastinate
import uvloop

from rivals.surroundings import jobs, signed, sink_url, store_url

AT_A_TIME = 16
ENQUEUERS = 16
CONNECTIONS = 16

app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(
        conninfo=store_url(), min_size=CONNECTIONS, max_size=CONNECTIONS
    )
)


class Own:
    """What a worker has for itself."""

    session: aiohttp.ClientSession


async def deliver(id: str, payload: str, secret: str) -> int:  # noqa: A002  an id is what it is
    """Make one delivery."""
    body, headers = signed((id, payload, secret))
    async with Own.session.post(sink_url(), data=body, headers=headers) as response:
        response.raise_for_status()
        return response.status


task = app.task(name="deliver")(deliver)


def enqueue(deliveries: int) -> float:
    """Put all jobs into the queue; the seconds that took."""
    return uvloop.run(_enqueue(deliveries))


async def _enqueue(deliveries: int) -> float:
    left = jobs(deliveries)

    async def some() -> None:
        for id, payload, secret in left:  # noqa: A001  an id is what it is
            await task.defer_async(id=id, payload=payload, secret=secret)

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        started = time.perf_counter()
        await asyncio.gather(*(some() for _ in range(ENQUEUERS)))
        return time.perf_counter() - started


def work() -> None:
    """Work until told to stop."""
    uvloop.run(_work())


async def _work() -> None:
    async with app.open_async(), aiohttp.ClientSession() as Own.session:
        await app.run_worker_async(concurrency=AT_A_TIME)
