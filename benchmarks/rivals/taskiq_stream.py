"""taskiq on a Redis stream, sending with aiohttp: two processes of 100 tasks at a time.

Kept: each task in Redis until its POST is answered and the result is kept, then that (with the
status). Redis writes to disk once a second, so up to a second of both can be lost. No record of
attempts. Enqueued by one process, fifty at a time.
"""

import asyncio
import sys
import time

import aiohttp
import uvloop
from taskiq import TaskiqEvents, TaskiqState
from taskiq.__main__ import main as taskiq_command
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

from rivals.surroundings import CORES, jobs, signed, sink_url, store_url

AT_A_TIME = 100
ENQUEUERS = 50

broker = RedisStreamBroker(store_url(), consumer_id="0").with_result_backend(
    RedisAsyncResultBackend(store_url())
)


class Own:
    """What a worker has for itself."""

    session: aiohttp.ClientSession


async def open_session(_: TaskiqState) -> None:
    """Have connections ready that all tasks share."""
    Own.session = aiohttp.ClientSession()


async def close_session(_: TaskiqState) -> None:
    """Close them."""
    await Own.session.close()


async def deliver(id: str, payload: str, secret: str) -> int:  # noqa: A002  an id is what it is
    """Make one delivery."""
    body, headers = signed((id, payload, secret))
    async with Own.session.post(sink_url(), data=body, headers=headers) as response:
        response.raise_for_status()
        return response.status


broker.add_event_handler(TaskiqEvents.WORKER_STARTUP, open_session)
broker.add_event_handler(TaskiqEvents.WORKER_SHUTDOWN, close_session)
task = broker.task(task_name="deliver")(deliver)


def enqueue(deliveries: int) -> float:
    """Put all jobs into the queue; the seconds that took."""
    return uvloop.run(_enqueue(deliveries))


async def _enqueue(deliveries: int) -> float:
    left = jobs(deliveries)

    async def some() -> None:
        for job in left:
            await task.kiq(*job)

    await broker.startup()
    started = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(ENQUEUERS)))
    took = time.perf_counter() - started
    await broker.shutdown()
    return took


def work() -> None:
    """Work until told to stop."""
    numbers = ["--workers", str(CORES), "--max-async-tasks", str(AT_A_TIME)]
    numbers += ["--max-prefetch", str(AT_A_TIME)]
    sys.argv = ["taskiq", "worker", f"{__name__}:broker", *numbers, "--log-level", "ERROR"]
    taskiq_command()
