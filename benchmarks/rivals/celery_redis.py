"""Celery on Redis, sending with requests: four forked workers.

Kept: each task in Redis until its POST is answered (`acks_late`), then the status for a day. Redis
writes to disk once a second, so up to a second of both can be lost. No record of attempts.
Enqueued one after the other by one client.
"""

import time

import requests
from celery import Celery

from rivals.surroundings import jobs, signed, sink_url, store_url

WORKERS = 4  # on two cores four are faster than two
PREFETCHED = 64

app = Celery("rival", broker=store_url(), backend=store_url())
app.conf.update(
    broker_connection_retry_on_startup=True,
    result_expires=86_400,
    task_acks_late=True,
    worker_prefetch_multiplier=PREFETCHED,
)
session = requests.Session()


def deliver(id: str, payload: str, secret: str) -> int:  # noqa: A002  an id is what it is
    """Make one delivery."""
    body, headers = signed((id, payload, secret))
    response = session.post(sink_url(), data=body, headers=headers, timeout=15)
    response.raise_for_status()
    return response.status_code


task = app.task(name="deliver")(deliver)


def enqueue(deliveries: int) -> float:
    """Put all jobs into the queue; the seconds that took."""
    app.connection_for_write().ensure_connection()
    started = time.perf_counter()
    for job in jobs(deliveries):
        task.delay(*job)
    return time.perf_counter() - started


def work() -> None:
    """Work until told to stop."""
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=ERROR"]
    app.worker_main(["worker", "--pool=prefork", f"--concurrency={WORKERS}", *quiet])
