"""Does a bad endpoint slow a good one down? Real receivers, real time, one process that sends.

    ./dev bench isolation [--waiting N] [--rate R] [--seconds S] [--pairs P] [--json]

A healthy endpoint gets messages at a steady rate, half of what this machine can do, whether or not
the ones before have arrived. Beside it another endpoint has N deliveries waiting and is, one after
the other: down; up and slow (a second for each answer); up and answering one byte a second. Each
time its lane is paused for S seconds and at work for S seconds, in turns: what is compared is how
long a message takes from the call that hands it in to its arrival at the healthy receiver.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from tarry.cli.bench.cost import megabytes
from tarry.service import Hooks, open_hooks
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.message import NewMessage

LOOPBACK = "127.0.0.0/8"
PAYLOAD = b'{"total": 12}'
RATIO, EXTRA, GROWTH = 1.2, 0.005, 50.0
"""The targets: so many times, or so many seconds more; megabytes."""
WARM, AT_A_TIME = 4_000, 64
SETTLE = 2.0
"""Seconds until a lane that was changed is at work, or still."""
RECEIVER = ("-m", "tarry.testing.receiver")
DRIP = (
    "import sys\nfrom tarry.testing import zoo\nwith zoo.receiver('slow-head') as receiver:\n"
    " print(receiver.url, flush=True)\n sys.stdin.read()\n"
)


@dataclass(frozen=True)
class Found:
    """What one neighbour did to the healthy endpoint. Times are in milliseconds."""

    neighbour: str
    alone_p50: float
    alone_p99: float
    beside_p50: float
    beside_p99: float
    growth_mb: float
    lost: int

    @property
    def verdict(self) -> str:
        """Whether the targets are met."""
        allowed = max(self.alone_p99 * RATIO, self.alone_p99 + EXTRA * 1000)
        kept = self.beside_p99 <= allowed and self.growth_mb <= GROWTH and not self.lost
        return "pass" if kept else "MISS"


@contextmanager
def started(*arguments: str) -> Iterator[str]:
    """A receiver in a process of its own; gives its URL."""
    with subprocess.Popen(  # noqa: S603  this very interpreter
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process.stdout.readline().strip() if process.stdout else ""
        finally:
            process.terminate()


def nobody() -> str:
    """A URL at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/in"


class Driver:
    """Hands messages in for the healthy endpoint, and knows when."""

    def __init__(self, hooks: Hooks, application: Application, log: Path) -> None:
        self._hooks, self._application, self._log = hooks, application, log
        self._handed_in: dict[str, float] = {}

    async def _one(self, at: float) -> None:
        accepted = await self._hooks.send(self._application, "a.b", PAYLOAD)
        self._handed_in[accepted.message.id] = at

    async def most(self) -> float:
        """Messages a second that get through when as many as possible are handed in."""
        began = time.monotonic()
        left = iter(range(WARM))

        async def some() -> None:
            for _ in left:
                await self._one(time.monotonic())

        await asyncio.gather(*(some() for _ in range(AT_A_TIME)))
        await self.waits()
        return WARM / (time.monotonic() - began)

    async def steadily(self, rate: float, seconds: float) -> None:
        """Hand in at a rate, whatever becomes of it."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(int(rate * seconds)):
                at = began + number / rate
                if (ahead := at - time.monotonic()) > 0:
                    await asyncio.sleep(ahead)
                group.create_task(self._one(at))

    async def waits(self) -> tuple[list[float], int]:
        """How long each took that was handed in since, in order; and how many never came."""
        until = time.monotonic() + 20
        while True:
            came = self._arrivals()
            if self._handed_in.keys() <= came.keys() or time.monotonic() > until:
                break
            await asyncio.sleep(0.1)
        took = sorted(came[id] - at for id, at in self._handed_in.items() if id in came)  # noqa: A001  an id is what it is
        lost = len(self._handed_in) - len(took)
        self._handed_in.clear()
        return took, lost

    def _arrivals(self) -> dict[str, float]:
        rows = (line.split("\t") for line in self._log.read_text().splitlines())
        found: dict[str, float] = {}
        for row in rows:
            if len(row) > 1:
                found.setdefault(row[1], float(row[0]))
        return found


async def fill(hooks: Hooks, application: Application, waiting: int) -> None:
    """Put messages into a queue."""
    for start in range(0, waiting, 1000):
        size = min(1000, waiting - start)
        new = [NewMessage(hooks.message(application, "a.b", PAYLOAD)) for _ in range(size)]
        await hooks.send_many(new)


def quantile(waits: list[float], share: float) -> float:
    """In milliseconds, rounded."""
    return round(waits[min(len(waits) - 1, int(share * len(waits)))] * 1000, 2)


async def compared(
    hooks: Hooks, driver: Driver, bad: Endpoint, name: str, given: argparse.Namespace
) -> Found:
    """The healthy endpoint alone and beside a neighbour, in turns."""
    waits: dict[Standing, list[float]] = {Standing.PAUSED: [], Standing.ENABLED: []}
    lost, before, most = 0, megabytes(os.getpid()), 0.0
    for _ in range(given.pairs):
        for standing in waits:
            bad = await hooks.change_endpoint(bad, standing=standing)
            await asyncio.sleep(SETTLE)
            await driver.steadily(given.rate, given.seconds)
            took, gone = await driver.waits()
            waits[standing] += took
            lost += gone
            most = max(most, megabytes(os.getpid()))
    alone, beside = sorted(waits[Standing.PAUSED]), sorted(waits[Standing.ENABLED])
    return Found(
        name,
        quantile(alone, 0.5),
        quantile(alone, 0.99),
        quantile(beside, 0.5),
        quantile(beside, 0.99),
        round(most - before, 1),
        lost,
    )


async def measure(given: argparse.Namespace, folder: Path) -> list[Found]:
    """One neighbour after the other, with the same backlog."""
    log = folder / "log"
    db = f"sqlite:////{str(folder / 'hooks.db').lstrip('/')}"
    with (
        started(*RECEIVER, "--log", str(log)) as good,
        started(*RECEIVER, "--latency", "1") as slow,
        started("-c", DRIP) as drip,
    ):
        async with open_hooks(db, allow_network=(LOOPBACK,)) as hooks:
            shop, other = await hooks.application("shop"), await hooks.application("other")
            await hooks.add_endpoint(shop, good)
            paused = Standing.PAUSED
            bad = await hooks.add_endpoint(other, nobody(), standing=paused)
            await fill(hooks, other, given.waiting)
            driver = Driver(hooks, shop, log)
            found = []
            async with hooks.dispatching():
                most = await driver.most()
                given.rate = given.rate or most / 2
                for name, url in (("down", bad.url), ("slow", slow), ("a byte a second", drip)):
                    bad = await hooks.change_endpoint(bad, url=url, standing=paused)
                    found.append(await compared(hooks, driver, bad, name, given))
    return found


def main() -> None:
    """Run it and print what it came to."""
    parser = argparse.ArgumentParser(prog="./dev bench isolation", description=__doc__)
    parser.add_argument("--waiting", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=0.0, help="messages a second")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="tarry-isolation-") as folder:
        found = uvloop.run(measure(given, Path(folder)))
    if given.json:
        rows = [{**asdict(one), "verdict": one.verdict} for one in found]
        print(json.dumps({"rate": given.rate, "waiting": given.waiting, "found": rows}, indent=2))
        return
    print(f"{given.rate:,.0f} messages a second; {given.waiting:,} wait for the neighbour")
    for one in found:
        print(
            f"{one.verdict}  neighbour {one.neighbour}: p99 {one.alone_p99} ms alone,"
            f" {one.beside_p99} ms beside it (p50 {one.alone_p50}, {one.beside_p50});"
            f" {one.growth_mb:+} MB; {one.lost} lost"
        )


if __name__ == "__main__":
    main()
