"""What every story of faults has: a database, a receiver, processes, and the books.

The books say at the end whether all that was accepted arrived, and explain each duplicate: a
message may arrive once more for each death at which it had arrived and was not settled.
"""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import apsw
import psycopg

from tarry.service import Hooks, open_hooks
from tarry.service.model.delivery import ENDED, LIVE, State
from tarry.testing.receiver import Receiver
from tests.faults.nursery import Child, Nursery

OK = 200
NETWORK = "127.0.0.0/8"
PATIENCE = 150.0
LONG = 30.0
"""Seconds of a lease, for tests that do not wait for its end."""
DELIVERIES = """
    SELECT m.id, d.lane, d.seq, d.state, d.reason, d.attempts, d.tries
      FROM {0}delivery AS d JOIN {0}message AS m ON m.{1} = d.message
"""


class Row(NamedTuple):
    """A delivery as it is stored."""

    message: str
    lane: int
    seq: int
    state: str
    reason: str
    attempts: int
    tries: int


class Base(Protocol):
    """A database, and reading access to its rows."""

    url: str
    lease: float

    def deliveries(self) -> list[Row]: ...
    def ask(self, sql: str) -> list[tuple[Any, ...]]: ...


class SqliteBase:
    """A file: who takes over need not wait for a lease."""

    lease = 10.0

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"

    def deliveries(self) -> list[Row]:
        return [Row(*row) for row in self.ask(DELIVERIES.format("", "number"))]

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        db = apsw.Connection(str(self.path))
        try:
            db.set_busy_timeout(10_000)
            return list(db.execute(sql.replace("tarry.", "")))
        finally:
            db.close()


class PostgresBase:
    """A database of a server: a machine that stands still for longer than a lease ends it."""

    lease = 3.0

    def __init__(self, url: str) -> None:
        self.url = url

    def deliveries(self) -> list[Row]:
        return [Row(*row) for row in self.ask(DELIVERIES.format("tarry.", "id"))]

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(sql.encode()).fetchall()


def until(done: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Wait until `done()` is true; `what` describes that in the failure."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"after {seconds:g} s not yet: {what}"
        time.sleep(0.02)


class Scene:
    """One story: its database, its receiver, its processes and its books."""

    def __init__(self, base: Base, receiver: Receiver, nursery: Nursery, folder: Path) -> None:
        self.base, self.receiver, self.nursery, self.folder = base, receiver, nursery, folder
        self.lease = base.lease
        self.acknowledged = folder / "acknowledged"
        self.acknowledged.touch()
        self.explained: Counter[str] = Counter()
        self.apps = 0

    # --- Before ---------------------------------------------------------------------------------

    def prepare(self, *, apps: int = 4, messages: int = 0, **endpoint: Any) -> None:  # noqa: ANN401  an endpoint's fields
        """Make applications with an endpoint each, and accept some messages."""

        async def make(hooks: Hooks) -> None:
            for number in range(apps):
                application = await hooks.application(f"app-{number}")
                url = f"{self.receiver.url}/{number}"
                await hooks.add_endpoint(application, url, uid=f"end-{number}", **endpoint)
            for number in range(messages):
                application = await hooks.application(f"app-{number % apps}")
                accepted = await hooks.send(application, "happened", {"number": number})
                self._acknowledge(number, accepted.message.id)

        self.apps = apps
        self.do(make)

    def do(self, work: Callable[[Hooks], Any], **settings: Any) -> Any:  # noqa: ANN401  whatever comes out
        """Do something with the database from a program of one's own."""

        async def inside() -> object:
            async with open_hooks(self.base.url, allow_network=(NETWORK,), **settings) as hooks:
                return await work(hooks)

        return asyncio.run(inside())

    def _acknowledge(self, number: int, message: str) -> None:
        with self.acknowledged.open("a") as lines:
            lines.write(f"{number} {message}\n")

    # --- Processes ------------------------------------------------------------------------------

    def worker(self, failpoint: str = "", *, grace: float = 60, files: int | None = None) -> Child:
        """Start `tarry worker`."""
        arguments = ["worker", "--db", self.base.url, "--allow-network", NETWORK]
        arguments += ["--lease", str(self.lease), "--grace", str(grace)]
        environment = {"TARRY_FAILPOINT": failpoint} if failpoint else {}
        return self.nursery.start(
            "worker", self._log(), environment=environment, files=files, arguments=arguments
        )

    def serve(self, *options: str) -> tuple[Child, str]:
        """Start `tarry serve` with the key `k`; also its URL."""
        arguments = ["serve", "--db", self.base.url, "--allow-network", NETWORK, "--api-key", "k"]
        arguments += ["--listen", "127.0.0.1:0", *options]
        server = self.nursery.start("worker", self._log(), arguments=arguments)
        until(lambda: "ready: " in server.said, "it is ready")
        return server, server.said.partition("ready: ")[2].partition(",")[0]

    def at_work(self, *workers: Child) -> None:
        """Wait until each has begun: what befalls one that only starts is its end, as it says."""
        for worker in workers:
            until(lambda: "delivering from" in worker.said, "it is at work")  # noqa: B023  asked here

    def end(self, worker: Child) -> None:
        """Have a worker end in good order."""
        self.at_work(worker)
        assert worker.end() == 0, worker.said

    def ingest(self, failpoint: str = "", *, pause: float = 0.01, most: int = 10**6) -> Child:
        """Start a process that accepts messages and appends each to a file."""
        return self.nursery.start(
            "ingest",
            self._log(),
            environment={"TARRY_FAILPOINT": failpoint} if failpoint else {},
            db=self.base.url,
            apps=self.apps,
            acknowledged=str(self.acknowledged),
            pause=pause,
            most=most,
        )

    def people(self, failpoint: str, act: str, **about: str) -> Child:
        """Start a process that asks for something."""
        environment = {"TARRY_FAILPOINT": failpoint} if failpoint else {}
        return self.nursery.start(
            "people",
            self._log(),
            environment=environment,
            db=self.base.url,
            act=act,
            about=about,
        )

    def change(self, failpoint: str, act: str) -> Child:
        """Start a process that changes something."""
        environment = {"TARRY_FAILPOINT": failpoint} if failpoint else {}
        return self.nursery.start(
            "change",
            self._log(),
            environment=environment,
            db=self.base.url,
            act=act,
            url=f"{self.receiver.url}/changed",
        )

    def _log(self) -> Path:
        return self.folder / f"process-{len(list(self.folder.glob('process-*')))}.log"

    # --- The books ------------------------------------------------------------------------------

    def accepted(self) -> dict[str, int]:
        """Return the number of each acknowledged message, by its id."""
        lines = self.acknowledged.read_text().splitlines()
        return {line.split()[1]: int(line.split()[0]) for line in lines}

    def died(self, *, alone: bool = True, stopped: bool = False) -> None:
        """Note that a dispatcher died: messages that arrived and were not settled may come again.

        If it was `alone`, its last bytes were read when no connection is left. A dispatcher that
        was only `stopped` may have sent a request that arrives once it continues.
        """
        self._knock()
        if alone:
            until(lambda: not self.receiver.connections, "no connection is left")
        else:
            self._knock()  # connections made just as the first knock are accepted by now
        live = {row.message for row in self.base.deliveries() if row.state in LIVE}
        arrived = self.taken()
        self.explained |= Counter({name: max(arrived[name], int(stopped)) for name in live})

    @contextmanager
    def trouble(self) -> Iterator[None]:
        """The database is away in here: what arrives, or had and is not settled, may come again."""
        since = time.monotonic()
        concerned = {row.message for row in self.base.deliveries() if row.state in LIVE}
        yield
        arrivals = list(self.receiver.arrivals)
        concerned |= {arrival.id for arrival in arrivals if arrival.at >= since}
        taken = self.taken()
        self.explained |= Counter({name: taken[name] for name in concerned})

    def goes_on(self) -> None:
        """Wait until messages are accepted, and arrive."""
        known = set(self.accepted())
        until(lambda: set(self.accepted()) - known, "messages are accepted")
        fresh = set(self.accepted()) - known
        until(lambda: fresh <= self.taken().keys(), "what was accepted arrives")

    def settle_down(self, seconds: float = PATIENCE) -> None:
        """Wait until nothing is on its way any more."""
        until(lambda: not self.live(), "all deliveries have ended", seconds)

    def live(self) -> int:
        """How many deliveries have not ended."""
        query = "SELECT count(*) FROM tarry.delivery WHERE state IN ('ready', 'waiting')"
        return int(self.base.ask(query)[0][0])

    def check(self, ended: Collection[str] = ()) -> None:
        """All that was accepted arrived, each duplicate is explained, and nothing is stuck.

        What was not delivered has `ended` for one of these reasons.
        """
        rows = self.base.deliveries()
        stored = {row.message for row in rows}
        acknowledged = self.accepted()
        arrived = self.taken()
        assert acknowledged.keys() <= stored, "acknowledged and not on record"
        assert not [row for row in rows if State(row.state) not in ENDED]
        delivered = {row.message for row in rows if row.state == State.DELIVERED}
        over = {row.message for row in rows if row.reason in ended}
        assert stored == delivered | over, [row for row in rows if row.state not in ENDED][:10]
        assert not delivered - arrived.keys(), "settled as delivered and never arrived"
        assert not arrived.keys() - stored, "arrived and not on record"
        self._check_duplicates()
        self._check_counts()

    def duplicates(self) -> Counter[str]:
        """How often more than once each message was taken."""
        taken = self.taken()
        return taken - Counter(taken.keys())

    def taken(self) -> Counter[str]:
        """How often the receiver took each message."""
        arrivals = list(self.receiver.arrivals)
        return Counter(arrival.id for arrival in arrivals if arrival.status == OK and arrival.id)

    def _knock(self) -> None:
        """Get a connection accepted by the receiver: so are all earlier ones."""
        parts = urlsplit(self.receiver.url)
        with (
            suppress(ConnectionRefusedError),
            socket.create_connection((parts.hostname, parts.port), PATIENCE) as line,
        ):
            line.sendall(b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n")
            line.recv(1000)

    def _check_duplicates(self) -> None:
        unexplained = self.duplicates() - self.explained
        assert not unexplained, (unexplained, self.explained, self.said())

    def _check_counts(self) -> None:
        wrong = self.base.ask(
            "SELECT l.number, l.added, s.ended FROM tarry.lane AS l"
            " JOIN tarry.lane_state AS s ON s.lane = l.number WHERE l.added <> s.ended"
        )
        assert not wrong, "lanes that have lost count"
        made, tries = self.base.ask(
            "SELECT (SELECT count(*) FROM tarry.attempt WHERE \"trigger\" = 'scheduled'),"
            " (SELECT coalesce(sum(tries), 0) FROM tarry.delivery)"
        )[0]
        assert made == tries, "an attempt is stored that no delivery has counted"
        keys = self.base.ask("SELECT count(*), count(DISTINCT message) FROM tarry.key")[0]
        assert keys[0] == keys[1], "a key has two messages"

    def said(self) -> str:
        """What all processes said."""
        logs: Sequence[Path] = sorted(self.folder.glob("process-*"))
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')}" for log in logs)
