"""The floor for batches: how fast SQLite alone stores the same rows.

One connection with the store's own settings inserts each batch in a durable transaction. There is
no HTTP, no id generation, no fan-out to endpoints, and no other reader or writer.
"""

import time
from pathlib import Path

from tarry.cli.bench.floor import Posted
from tarry.cli.bench.job import PAYLOAD, message_id
from tarry.service.store.sqlite.database.connection import connect
from tarry.service.store.sqlite.database.disk import Log
from tarry.service.store.sqlite.migrate.schema import bring_up, on_file
from tarry.service.store.sqlite.queries import SQL


class Inserted(Posted, frozen=True):
    """How long each batch took, and how much CPU time all of them took together."""

    cpu: float


def bare_inserts(path: Path, batches: int, batch: int) -> Inserted:
    """Insert `batches` times `batch` messages, each with one delivery, into a new file."""
    on_file(path, bring_up, create=True)
    db = connect(path)
    log, payload, now = Log(db, path), PAYLOAD.encode(), time.time()
    waits, cpu = [], 0.0
    for first in range(1, batches * batch + 1, batch):
        numbers = range(first, first + batch)
        messages = [
            (
                number,
                message_id(number),
                "app",
                "order.created",
                None,
                "[]",
                "[]",
                now,
                None,
                None,
                None,
                payload,
            )
            for number in numbers
        ]
        deliveries = [(1, number, number, "ready", "new", None, now, None) for number in numbers]
        began, cpu_began = time.perf_counter(), time.process_time()
        db.execute("BEGIN IMMEDIATE")
        db.executemany(SQL["add_message"], messages)
        db.executemany(SQL["add_delivery"], deliveries)
        db.execute("COMMIT")
        log.tidy()
        waits.append(time.perf_counter() - began)
        cpu += time.process_time() - cpu_began
    log.leave()
    db.close()
    return Inserted(sum(waits), sorted(waits), cpu)
