"""The real stores beside the memory store: the same steps, the same answers, the same rows.

`./dev test --hypothesis-profile=deep` takes many more of them.
"""

import asyncio
import os
import tempfile
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from psycopg.sql import SQL, Identifier

from tarry.service.model.message import Message
from tarry.service.outbox import PSYCOPG
from tarry.service.store.postgres.store import PostgresStore
from tarry.service.store.sqlite.store import open_sqlite
from tarry.testing.store_machine import Opened, StoreMachine
from tests.migrated_file import make_migrated_file

USUAL = settings.get_profile("ci").max_examples
EXAMPLES = 25
STEPS = 50
MEMORY = Path("/dev/shm")  # noqa: S108  only here is no time spent on the disk, which is not tested


def steps() -> settings:
    """Return a share of the profile's examples, because each example needs its own database."""
    chosen = settings.get_current_profile_name()
    examples = settings.get_profile(chosen).max_examples * EXAMPLES // USUAL
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        suppress_health_check=[HealthCheck.too_slow],
    )


class SqliteMachine(StoreMachine):
    """Provide a new file for every example."""

    def open(self) -> Opened:
        self.time = 0.0
        self.folder = tempfile.TemporaryDirectory(
            dir=MEMORY if os.access(MEMORY, os.W_OK) else None
        )
        self.runner = asyncio.Runner()
        path = make_migrated_file(Path(self.folder.name, "tarry.db"))
        store = self.runner.run(open_sqlite(path, clock=lambda: self.time))
        return Opened(store, self.runner.run, self.later)

    async def later(self, seconds: float) -> None:
        self.time += seconds

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self.runner.run(self.opened.store.close())
            self.runner.close()
            self.folder.cleanup()


class PostgresMachine(StoreMachine):
    """Provide one database, emptied for every example."""

    url: str
    server: psycopg.Connection

    def open(self) -> Opened:
        tables = self.server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'tarry'")
        for (table,) in tables.fetchall():
            if table not in {"migration", "shard"}:
                self.server.execute(SQL("DELETE FROM tarry.{}").format(Identifier(table)))
        self.server.execute("UPDATE tarry.shard SET worker = NULL, until = '-infinity', epoch = 0")
        self.runner = asyncio.Runner()
        store = self.runner.run(PostgresStore.open(self.url, connections=1))
        return Opened(store, self.runner.run, self.later, self.write_to_outbox)

    def write_to_outbox(self, message: Message) -> None:
        row = (
            *(message.id, message.application, message.event_type, message.payload, None),
            *(list(message.channels), list(message.tags), message.deliver_at),
        )
        self.server.execute(PSYCOPG, row)

    async def later(self, seconds: float) -> None:
        """Move the saved times back instead: a test cannot push the database's clock."""
        for table in ("shard", "worker"):
            query = SQL("UPDATE tarry.{} SET until = until - make_interval(secs => %s)")
            self.server.execute(query.format(Identifier(table)), [seconds])

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self.runner.run(self.opened.store.close())
            self.runner.close()


@pytest.mark.slow
@pytest.mark.hypothesis  # for ./dev test --long, which takes many more examples of these
@pytest.mark.timeout(600)  # a failure is made small before it is told
def test_sqlite_does_what_the_model_does() -> None:
    run_state_machine_as_test(SqliteMachine, settings=steps())


@pytest.mark.slow
@pytest.mark.hypothesis  # for ./dev test --long, which takes many more examples of these
@pytest.mark.timeout(600)  # likewise
def test_postgres_does_what_the_model_does(tarry_database: str) -> None:
    with psycopg.connect(tarry_database, autocommit=True) as connection:

        class Machine(PostgresMachine):
            url = tarry_database
            server = connection

        run_state_machine_as_test(Machine, settings=steps())
