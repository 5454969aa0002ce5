"""An endpoint comes back with much waiting for it: a real worker, a real receiver, real time.

    ./dev bench recovery [--waiting N] [--capacity C] [--outage S] [--mode MODE] [--picture FILE]
                         [--remembered] [--json]

The receiver does C requests a second and, above that, what its mode says (brittle: it breaks). It
is down for S seconds with N deliveries waiting, then up. Measured from its own log: how long until
all are delivered, as a ratio to N / C; the most that arrived in any second, as a ratio to C; how
many attempts were made while it was down. With `--remembered` there is a smaller outage before, so
that the worker has learned what the endpoint can do.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from tarry.service import Hooks, open_hooks
from tarry.service.model.listing import Cut
from tarry.service.model.message import NewMessage
from tarry.service.store.kinds import Endpoints

LOOPBACK = "127.0.0.0/8"
OK = 200
PAYLOAD = b'{"total": 12}'


@dataclass(frozen=True)
class Recovery:
    """What a recovery came to."""

    mode: str
    waiting: int
    capacity: float
    outage: float
    remembered: bool
    seconds: float
    to_limit: float
    peak_to_capacity: float
    attempts_while_down: int
    attempts_after: int
    delivered: int


@contextmanager
def receiver(port: int, capacity: float, mode: str, down: float, log: Path) -> Iterator[int]:
    """A receiver in a process of its own; gives its port."""
    command = [sys.executable, "-m", "tarry.testing.receiver", "--port", str(port)]
    command += ["--capacity", str(capacity), "--mode", mode, "--down", str(down), "--how", "500"]
    with subprocess.Popen(  # noqa: S603  this very interpreter
        [*command, "--log", str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            yield int(urlsplit(said).port or 0)
        finally:
            process.terminate()


def arrivals(log: Path) -> list[tuple[float, int]]:
    """When each request came, and how it was answered."""
    rows = (line.split() for line in log.read_text().splitlines())
    return [(float(row[0]), int(row[-1])) for row in rows if row]


def peak(times: Sequence[float]) -> int:
    """The most in any second."""
    return max(bisect_left(times, at + 1.0) - index for index, at in enumerate(times))


async def drained(hooks: Hooks, known_as: str, patience: float) -> None:
    """Wait until nothing waits any more."""
    application = await hooks.application(known_as)
    (endpoint,) = (await hooks.store.page(Endpoints(application.id), Cut())).entries
    began = time.monotonic()
    while (await hooks.lane(endpoint)).waiting:
        if time.monotonic() - began > patience:
            raise SystemExit(f"{(await hooks.lane(endpoint)).waiting} still wait")
        await asyncio.sleep(0.2)


async def fill(hooks: Hooks, known_as: str, waiting: int) -> None:
    """Put messages into the queue."""
    application = await hooks.application(known_as)
    for start in range(0, waiting, 1000):
        size = min(1000, waiting - start)
        new = [NewMessage(hooks.message(application, "a.b", PAYLOAD)) for _ in range(size)]
        await hooks.send_many(new)


async def measure(options: argparse.Namespace, folder: Path) -> tuple[Recovery, list[float], float]:
    """Run one outage and what follows; the result, the arrivals, and when it came back."""
    db, log, warm = f"sqlite:///{folder / 'hooks.db'}", folder / "log", folder / "warm"
    capacity, outage = options.capacity, options.outage
    async with open_hooks(db, allow_network=(LOOPBACK,)) as hooks:
        application = await hooks.application("shop")
        with receiver(0, capacity, options.mode, 5.0 if options.remembered else 0.0, warm) as port:
            await hooks.add_endpoint(application, f"http://127.0.0.1:{port}/in")
            if options.remembered:
                await fill(hooks, "shop", int(capacity * 20))
                async with hooks.dispatching():
                    await drained(hooks, "shop", 300)
        with receiver(port, capacity, options.mode, outage, log):
            back_at = time.monotonic() + outage
            await fill(hooks, "shop", options.waiting)
            async with hooks.dispatching():
                await drained(hooks, "shop", outage + 20 * options.waiting / capacity + 60)
    seen = arrivals(log)
    after = [at for at, _ in seen if at >= back_at]
    taken = [at for at, status in seen if status == OK]
    seconds = max(taken) - back_at
    return (
        Recovery(
            mode=options.mode,
            waiting=options.waiting,
            capacity=capacity,
            outage=outage,
            remembered=options.remembered,
            seconds=round(seconds, 2),
            to_limit=round(seconds / (options.waiting / capacity), 3),
            peak_to_capacity=round(peak(after) / capacity, 3),
            attempts_while_down=len(seen) - len(after),
            attempts_after=len(after),
            delivered=len(taken),
        ),
        [at - back_at for at, _ in seen],
        capacity,
    )


def draw(times: Sequence[float], capacity: float, file: Path) -> None:
    """Arrivals per second as a picture; the line is what the endpoint can do."""
    first, last = int(min(times)) - 1, int(max(times)) + 1
    counts = [0] * (last - first + 1)
    for at in times:
        counts[int(at // 1) - first] += 1
    tall, wide = 240, 900
    top = max(*counts, capacity) * 1.1
    step = wide / len(counts)
    bars = "".join(
        f'<rect x="{60 + index * step:.1f}" y="{20 + tall - tall * count / top:.1f}"'
        f' width="{max(step * 0.9, 0.5):.2f}" height="{tall * count / top:.1f}" fill="#4477aa"/>'
        for index, count in enumerate(counts)
        if count
    )
    line = 20 + tall - tall * capacity / top
    zero = 60 + (0 - first) * step
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide + 90}" height="{tall + 70}"'
        f' font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'{bars}<line x1="60" x2="{60 + wide}" y1="{line:.1f}" y2="{line:.1f}" stroke="#cc3311"'
        f' stroke-dasharray="4"/><text x="64" y="{line - 4:.1f}" fill="#cc3311">'
        f'capacity {capacity:g}/s</text><line x1="{zero:.1f}" x2="{zero:.1f}" y1="20"'
        f' y2="{20 + tall}" stroke="#777"/><text x="{zero + 4:.1f}" y="32">back</text>'
        f'<text x="60" y="{tall + 40}">{first} s</text><text x="{wide + 20}" y="{tall + 40}">'
        f'{last} s</text><text x="60" y="{tall + 60}">arrivals per second</text></svg>\n'
    )


def main() -> None:
    """Run it and print what it came to."""
    parser = argparse.ArgumentParser(prog="./dev bench recovery", description=__doc__)
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--capacity", type=float, default=200.0)
    parser.add_argument("--outage", type=float, default=60.0)
    parser.add_argument("--mode", choices=("shed", "brittle", "degrade"), default="brittle")
    parser.add_argument("--remembered", action="store_true")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="tarry-recovery-") as folder:
        found, times, capacity = asyncio.run(measure(options, Path(folder)))
    if options.picture:
        draw(times, capacity, options.picture)
    if options.json:
        print(json.dumps(asdict(found), indent=2))
    else:
        for name, value in asdict(found).items():
            print(f"{name.replace('_', ' '):>22}  {value}")


if __name__ == "__main__":
    main()
