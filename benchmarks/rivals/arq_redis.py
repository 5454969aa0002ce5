"""arq on Redis, sending with aiohttp: two processes of 100 jobs at a time.

Kept: each job in Redis until its POST is answered, then the status for an hour. Redis writes to
disk once a second, so up to a second of both can be lost. No record of attempts.
Enqueued by one process, fifty at a time.
"""

import asyncio
import time
from typing import Any

import aiohttp
import arq
import uvloop
from arq.connections import RedisSettings

from rivals.surroundings import jobs, signed, sink_url, store_url

AT_A_TIME = 100
ENQUEUERS = 50

Context = dict[str, Any]


async def deliver(context: Context, id: str, payload: str, secret: str) -> int:  # noqa: A002  an id is what it is
    """Make one delivery."""
    session: aiohttp.ClientSession = context["session"]
    body, headers = signed((id, payload, secret))
    async with session.post(sink_url(), data=body, headers=headers) as response:
        response.raise_for_status()
        return response.status


def enqueue(deliveries: int) -> float:
    """Put all jobs into the queue; the seconds that took."""
    return uvloop.run(_enqueue(deliveries))


async def _enqueue(deliveries: int) -> float:
    queue = await arq.create_pool(RedisSettings.from_dsn(store_url()))
    left = jobs(deliveries)

    async def some() -> None:
        for job in left:
            await queue.enqueue_job("deliver", *job)

    started = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(ENQUEUERS)))
    took = time.perf_counter() - started
    await queue.aclose()
    return took


async def open_session(context: Context) -> None:
    """Have connections ready that all jobs share."""
    context["session"] = aiohttp.ClientSession()


async def close_session(context: Context) -> None:
    """Close them."""
    await context["session"].close()


def work() -> None:
    """Work until told to stop."""
    uvloop.install()
    worker = arq.Worker(
        functions=[deliver],
        redis_settings=RedisSettings.from_dsn(store_url()),
        on_startup=open_session,
        on_shutdown=close_session,
        max_jobs=AT_A_TIME,
        poll_delay=0.01,  # it looks for work this often, and by default twice a second only
        queue_read_limit=AT_A_TIME,
    )
    worker.run()
