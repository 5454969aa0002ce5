"""Dramatiq on Redis, sending with requests: two processes of eight threads.

Kept: each message in Redis until its POST is answered, then the status for ten minutes. Redis
writes to disk once a second, so up to a second of both can be lost. No record of attempts.
Enqueued one after the other by one client.
"""

import sys
import threading
import time

import dramatiq
import requests
from dramatiq.brokers.redis import RedisBroker
from dramatiq.cli import main as dramatiq_command
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from rivals.surroundings import CORES, jobs, signed, sink_url, store_url

THREADS = 8

broker = RedisBroker(url=store_url())
broker.add_middleware(Results(backend=RedisBackend(url=store_url()), store_results=True))
dramatiq.set_broker(broker)


class Own(threading.local):
    """What each thread has for itself."""

    def __init__(self) -> None:
        self.session = requests.Session()


own = Own()


def deliver(id: str, payload: str, secret: str) -> int:  # noqa: A002  an id is what it is
    """Make one delivery."""
    body, headers = signed((id, payload, secret))
    response = own.session.post(sink_url(), data=body, headers=headers, timeout=15)
    response.raise_for_status()
    return response.status_code


actor = dramatiq.actor(deliver)


def enqueue(deliveries: int) -> float:
    """Put all jobs into the queue; the seconds that took."""
    broker.client.ping()
    started = time.perf_counter()
    for job in jobs(deliveries):
        actor.send(*job)
    return time.perf_counter() - started


def work() -> None:
    """Work until told to stop."""
    numbers = ["--processes", str(CORES), "--threads", str(THREADS)]
    sys.argv = ["dramatiq", __name__, *numbers]
    dramatiq_command()
