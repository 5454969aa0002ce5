"""The floor for batches: how fast SQLite alone stores the same rows.

Each batch is a durable transaction. There is no HTTP and no work of the store.
"""

import time
from pathlib import Path

from tarry.cli.bench.floor import Posted
from tarry.cli.bench.job import PAYLOAD, message_id
from tarry.service.build import bare_file


class Inserted(Posted, frozen=True):
    """How long each batch took, and how much CPU time all of them took together."""

    cpu: float


def bare_inserts(path: Path, batches: int, batch: int) -> Inserted:
    """Insert `batches` times `batch` messages, each with one delivery, into a new file."""
    file, payload, now = bare_file(path), PAYLOAD.encode(), time.time()
    waits, cpu = [], 0.0
    for first in range(1, batches * batch + 1, batch):
        ids = [message_id(number) for number in range(first, first + batch)]
        rows = file.rows(ids, payload, first=first, now=now)
        began, cpu_began = time.perf_counter(), time.process_time()
        file.insert(rows)
        waits.append(time.perf_counter() - began)
        cpu += time.process_time() - cpu_began
    file.close()
    return Inserted(sum(waits), sorted(waits), cpu)
