"""What a worker keeps in memory while all its endpoints are down and much waits for them.

    ./dev bench memory [--endpoints N] [--origins N] [--waiting N] [--bytes B] [--seconds S]
                       [--keep FOLDER] [--verbose] [--json]

A database with so many deliveries waiting for so many endpoints, at each of which nobody listens,
is given to `tarry worker` in a process of its own. It takes up all of them, finds out that they are
down and goes on probing. Measured is the most memory that it had in use in S seconds, or in up to
four times as many if it takes longer to find all of them down. With `--keep` the database as it was
filled stays in a folder, and the next run begins with a copy of it.
"""

import argparse
import asyncio
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from tarry.cli.bench.cost import megabytes
from tarry.service import Hooks, open_hooks
from tarry.service.model.application import Application
from tarry.service.model.message import NewMessage

LOOPBACK = "127.0.0.0/8"
FIRST = IPv4Address("127.1.0.1")
NOBODY = 1025
"""A port at which nobody listens on any address of this machine."""
TENANTS = 100
TARGET, STRETCH = 150.0, 100.0
"""Megabytes."""
OPEN = re.compile(rb"the lane of (\S+) is open")


@dataclass(frozen=True)
class Found:
    """Megabytes of the worker, at the most and at the end."""

    endpoints: int
    waiting: int
    found_down: int
    most_mb: float
    ended_mb: float

    @property
    def verdict(self) -> str:
        """Whether the target is met."""
        if self.most_mb > TARGET:
            return "MISS"
        return "pass, stretch too" if self.most_mb <= STRETCH else "pass"


async def fill(db: str, given: argparse.Namespace) -> None:
    """Endpoints and what waits for them; each message goes to all endpoints of its tenant."""
    tenants = min(TENANTS, given.endpoints)
    async with open_hooks(db, allow_network=(LOOPBACK,)) as hooks:
        shops = [await hooks.application(f"shop-{number}") for number in range(tenants)]
        numbers = iter(range(given.endpoints))

        async def some() -> None:
            for number in numbers:
                host = FIRST + number % given.origins
                place = f"http://{host}:{NOBODY}/in/{number}"
                await hooks.add_endpoint(shops[number % tenants], place)

        await asyncio.gather(*(some() for _ in range(64)))
        each = given.waiting // given.endpoints
        for shop in shops:
            await hooks.send_many(messages(hooks, shop, each, b'"%s"' % (b"x" * given.bytes)))


def prepare(path: Path, given: argparse.Namespace) -> None:
    """Fill a database, or take a copy of the one that was kept."""
    if given.keep is None:
        uvloop.run(fill(url(path), given))
        return
    given.keep.mkdir(parents=True, exist_ok=True)
    kept = given.keep / f"{given.waiting}-{given.endpoints}-{given.origins}-{given.bytes}.db"
    if not kept.exists():
        uvloop.run(fill(url(path), given))
        copy(path, kept)
        return
    copy(kept, path)


def copy(path: Path, to: Path) -> None:
    """Copy a database that nobody has open, and its keys before it: a copy with none is no use."""
    for suffix in (".keys", ""):
        shutil.copy(path.with_name(path.name + suffix), to.with_name(to.name + suffix))


def url(path: Path) -> str:
    """What `--db` says of a file."""
    return f"sqlite:////{str(path).lstrip('/')}"


def messages(hooks: Hooks, shop: Application, many: int, payload: bytes) -> list[NewMessage]:
    """So many for one tenant."""
    return [NewMessage(hooks.message(shop, "a.b", payload)) for _ in range(many)]


@contextmanager
def working(db: str, log: Path) -> Iterator[int]:
    """A worker; gives its process id."""
    command = [sys.executable, "-m", "tarry.cli", "worker", "--db", db]
    with (
        log.open("wb") as told,
        subprocess.Popen([*command, "--allow-network", LOOPBACK], stderr=told) as process,  # noqa: S603  this very interpreter
    ):
        try:
            yield process.pid
        finally:
            process.terminate()


def measure(db: str, folder: Path, given: argparse.Namespace) -> Found:
    """Let a worker run, and look at it ten times a second."""
    log = folder / "worker.log"
    seen: list[float] = []
    down = 0
    with working(db, log) as worker:
        begun, took = time.monotonic(), 0.0
        while took < given.seconds or (down < given.endpoints and took < 4 * given.seconds):
            time.sleep(0.1)
            took = time.monotonic() - begun
            seen.append(megabytes(worker))
            if len(seen) % 50 == 0:
                down = found_down(log)
                if given.verbose:
                    print(f"{took:6.1f} s {seen[-1]:.1f} MB, {down:,} down", file=sys.stderr)
    return Found(
        given.endpoints,
        given.waiting,
        found_down(log),
        round(max(seen), 1),
        round(seen[-1], 1),
    )


def found_down(log: Path) -> int:
    """How many endpoints the worker has found to be down."""
    return len(set(OPEN.findall(log.read_bytes())))


def main() -> None:
    """Run it and print what it came to."""
    parser = argparse.ArgumentParser(prog="./dev bench memory", description=__doc__)
    parser.add_argument("--endpoints", type=int, default=10_000)
    parser.add_argument("--origins", type=int, default=10_000, help="hosts they are spread over")
    parser.add_argument("--waiting", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=int, default=1024, help="of each payload")
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="fill only once")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="tarry-memory-") as name:
        folder = Path(name)
        path = folder / "hooks.db"
        prepare(path, given)
        found = measure(url(path), folder, given)
    if given.json:
        print(json.dumps({**asdict(found), "verdict": found.verdict}, indent=2))
        return
    print(
        f"{found.verdict}  {found.waiting:,} wait for {found.endpoints:,} endpoints,"
        f" {found.found_down:,} of them found to be down: {found.most_mb} MB at the most,"
        f" {found.ended_mb} MB at the end; at most {TARGET:g} (stretch {STRETCH:g})"
    )


if __name__ == "__main__":
    main()
