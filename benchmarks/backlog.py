"""Does a longer backlog make the work slower? The question for what is due, and the whole cycle.

    ./dev bench backlog [--db sqlite|postgres] [--sizes N,N,...] [--rounds N] [--json]

A database with so many waiting deliveries, half of them ready and half due later, in ten lanes, is
made by SQL. Then, on each size in turns: the question of a lane for what it could send next (100
rows), and a cycle (such a question, then what became of them, with an attempt each, in one commit).
The middle of all rounds counts. Ten million take some minutes and about 5 GB.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import asyncpg  # type: ignore[import-untyped]  # it ships no types

from tarry.service.build import open_store
from tarry.service.model.lane import Due, Lease, Stream, Want
from tarry.service.store.contract import Store
from tarry.service.store.kinds import Environment
from tarry.testing.postgres import throw_away_cluster
from tarry.testing.samples import ENVIRONMENT, an_application, an_endpoint, delivered

LANES, LIMIT = 10, 100
WARM = 10
PLENTY = 100_000_000
LATER = 4e9
QUERY, CYCLE = 1.2, 1.5
"""The targets: times slower, from the least to the most that wait."""

IN_SQLITE = """
WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < :many)
INSERT INTO message (number, id, application, event_type, channels, tags, accepted_at, payload)
SELECT n, printf('msg_%%027d', n), :application, 'a.b', '[]', '[]', n,
       CAST('{"total": 12}' AS BLOB)
  FROM counted;
INSERT INTO delivery (lane, seq, message, state, reason, due_at, accepted_at)
SELECT :first + (number - 1) / :each, (number - 1) %% :each + 1, number,
       iif(number %% 2, 'ready', 'waiting'), iif(number %% 2, 'new', 'backoff'),
       iif(number %% 2, NULL, :later), number
  FROM message;
UPDATE lane SET added = :each WHERE number >= :first;
ANALYZE;
""".replace("%%", "%")
IN_POSTGRES = """
INSERT INTO tarry.message (id, application, event_type, payload, channels, tags, accepted_at,
                           lanes, seqs)
SELECT 'msg_' || lpad(n::text, 27, '0'), '{application}', 'a.b', '{{"total": 12}}', '{{}}', '{{}}',
       n, ARRAY[{first} + (n - 1) / {each}], ARRAY[(n - 1) % {each} + 1]
  FROM generate_series(1, {many}) AS n;
INSERT INTO tarry.delivery (lane, seq, message, state, reason, due_at, accepted_at)
SELECT {first} + (n - 1) / {each}, (n - 1) % {each} + 1, 'msg_' || lpad(n::text, 27, '0'),
       CASE n % 2 WHEN 1 THEN 'ready' ELSE 'waiting' END,
       CASE n % 2 WHEN 1 THEN 'new' ELSE 'backoff' END,
       CASE n % 2 WHEN 1 THEN NULL ELSE {later} END, n
  FROM generate_series(1, {many}) AS n;
UPDATE tarry.lane SET added = {each} WHERE number >= {first};
VACUUM ANALYZE tarry.message; VACUUM ANALYZE tarry.delivery; CHECKPOINT;
"""


class Backlog:
    """A store with so many waiting; and what a dispatcher does to it."""

    def __init__(self, store: Store, leases: list[Lease], first: int, many: int) -> None:
        self._store, self._leases, self._first, self.many = store, leases, first, many
        self._turn = 0
        self._after = dict.fromkeys(range(LANES), 0)

    def works(self, rounds: int) -> dict[str, Callable[[], Awaitable[None]]]:
        """What can be done to it so often: a cycle uses up what is ready."""
        enough = self.many // 2 > 2 * (WARM + rounds) * LIMIT
        return {"question": self.question, **({"cycle": self.cycle} if enough else {})}

    async def question(self) -> None:
        """Ask a lane for what it could send next."""
        await self._asked(self._next())

    async def cycle(self) -> None:
        """Ask, and write down that all of it was delivered."""
        place = self._next()
        due = await self._asked(place)
        self._after[place] = due[-1].seq
        made = await self._store.settle([delivered(one) for one in due], [], self._leases)
        if not all(made):
            raise SystemExit("something was not settled")

    def _next(self) -> int:
        self._turn = (self._turn + 1) % LANES
        return self._turn

    async def _asked(self, place: int) -> list[Due]:
        want = Want(
            lane=self._first + place, stream=Stream.READY, limit=LIMIT, after=self._after[place]
        )
        waiting = Want(lane=self._first + place, stream=Stream.WAITING, limit=LIMIT)
        found = await self._store.fetch([want, waiting], now=time.time(), most_bytes=PLENTY)
        if len(found.due) != LIMIT:
            raise SystemExit(f"{len(found.due)} are due, not {LIMIT}")
        return found.due


@contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """An empty one."""
    if kind == "sqlite":
        yield f"sqlite:////{str(folder / 'hooks.db').lstrip('/')}"
        return
    with throw_away_cluster(settings={"max_wal_size": "4GB", "shared_buffers": "1GB"}) as cluster:
        yield cluster.url


async def filled(url: str, many: int) -> tuple[Store, Backlog]:
    """A database in which so many wait."""
    store = await open_store(url, migrate=True)
    await store.put(Environment(ENVIRONMENT))
    application = an_application()
    await store.put(application)
    made = [await store.put(an_endpoint(application)) for _ in range(LANES)]
    first, each = min(endpoint.lane for endpoint in made), many // LANES
    bounds = {"many": many, "application": application.id, "first": first, "each": each}
    await fill(url, {**bounds, "later": LATER})
    leases = await store.lease("worker", most=64, length=86_400.0)
    return store, Backlog(store, leases, first, many)


async def fill(url: str, bounds: dict[str, object]) -> None:
    """Put rows in, past the store."""
    if url.startswith("sqlite"):
        path = "/" + url.removeprefix("sqlite:////")

        def work() -> None:
            with apsw.Connection(path) as db:
                for statement in IN_SQLITE.split(";\n"):
                    db.execute(statement, bounds)

        await asyncio.to_thread(work)
        return
    server = await asyncpg.connect(url)
    for statement in IN_POSTGRES.format(**bounds).split(";"):
        if statement.strip():
            await server.execute(statement, timeout=3600)
    await server.close()


async def timed(work: Callable[[], Awaitable[None]]) -> float:
    """Seconds it takes."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def measure(kind: str, sizes: list[int], rounds: int) -> dict[tuple[int, str], float]:
    """Milliseconds of each work on each size."""
    with ExitStack() as opened:
        stores = []
        for many in sizes:
            folder = Path(opened.enter_context(TemporaryDirectory(prefix="tarry-backlog-")))
            url = opened.enter_context(database(kind, folder))
            stores.append(await filled(url, many))
        took: dict[tuple[int, str], list[float]] = defaultdict(list)
        for turn in range(WARM + rounds):
            for _, backlog in stores:
                for name, work in backlog.works(rounds).items():
                    seconds = await timed(work)
                    if turn >= WARM:
                        took[backlog.many, name].append(seconds)
        for store, _ in stores:
            await store.close()
    return {key: round(statistics.median(each) * 1000, 3) for key, each in took.items()}


def main() -> None:
    """Run it and print what it came to."""
    parser = argparse.ArgumentParser(prog="./dev bench backlog", description=__doc__)
    parser.add_argument("--db", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--sizes", default="10000,1000000,5000000,10000000")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sizes = sorted(int(size) for size in given.sizes.split(","))
    found = asyncio.run(measure(given.db, sizes, given.rounds))
    if given.json:
        print(json.dumps({f"{name} at {many}": took for (many, name), took in found.items()}))
        return
    for (many, name), took in found.items():
        print(f"{many:>12,} wait: {name} {took} ms")
    for name, limit in (("question", QUERY), ("cycle", CYCLE)):
        least, *_, most = [took for (_, work), took in found.items() if work == name]
        ratio = most / least
        print(f"{'pass' if ratio <= limit else 'MISS'}  {name}: {ratio:.2f} x, at most {limit}")


if __name__ == "__main__":
    main()
