"""Measure how long an event loop is kept from everything else."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PAUSE = 0.001


class Heartbeat:
    """A task beside the server; `longest` is the longest that others on the loop had to wait.

    A busy machine alone holds a thread up for more than 50 ms, so time on the clock says nothing.
    Two figures say what this process did; the larger one counts:

    - the processor time that the loop's thread used between two beats: work on the loop;
    - how late a beat was, if all threads used as much processor time meanwhile: work in another
      thread that kept the interpreter's lock.
    """

    def __init__(self) -> None:
        self.longest = 0.0

    async def beat(self) -> None:
        """Beat until cancelled."""
        while True:
            clock, process, thread = time.perf_counter(), time.process_time(), time.thread_time()
            await asyncio.sleep(PAUSE)
            on_loop = time.thread_time() - thread
            late = time.perf_counter() - clock - PAUSE
            locked = min(late, time.process_time() - process)
            self.longest = max(self.longest, on_loop, locked)


@asynccontextmanager
async def heartbeat() -> AsyncIterator[Heartbeat]:
    """Let a heart beat on the running loop until the end of the block."""
    heart = Heartbeat()
    task = asyncio.create_task(heart.beat())
    await asyncio.sleep(2 * PAUSE)
    heart.longest = 0.0
    try:
        yield heart
        await asyncio.sleep(2 * PAUSE)
    finally:
        task.cancel()
