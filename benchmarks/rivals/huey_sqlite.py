"""Huey on SQLite with fsync, sending with urllib3: one process of sixteen threads.

Kept: each task on disk until a worker takes it, which is before the POST: a crash loses what was
on its way. Then the status, on disk. No record of attempts.
Enqueued one after the other by one client, each with a commit of its own.
"""

import time

import urllib3
from huey import SqliteHuey

from rivals.surroundings import jobs, signed, sink_url, store_url

THREADS = 16
GOOD = 200

app = SqliteHuey("rival", filename=store_url(), fsync=True, timeout=60)
pool = urllib3.PoolManager(maxsize=THREADS, retries=False, timeout=15)


def deliver(id: str, payload: str, secret: str) -> int:  # noqa: A002  an id is what it is
    """Make one delivery."""
    body, headers = signed((id, payload, secret))
    response = pool.request("POST", sink_url(), body=body, headers=headers)
    if response.status != GOOD:
        raise urllib3.exceptions.HTTPError(response.status)
    return response.status


task = app.task()(deliver)


def enqueue(deliveries: int) -> float:
    """Put all jobs into the queue; the seconds that took."""
    started = time.perf_counter()
    for job in jobs(deliveries):
        task(*job)
    return time.perf_counter() - started


def work() -> None:
    """Work until told to stop."""
    app.create_consumer(workers=THREADS, periodic=False).run()
