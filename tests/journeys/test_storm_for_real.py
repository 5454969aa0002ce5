"""An endpoint comes back with much waiting: a real worker process, a real receiver, real time.

A small one: `./dev bench recovery` is the full one. A busy machine has room in the bounds.
"""

import asyncio
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tarry.service import open_hooks
from tarry.service.model.message import NewMessage

CAPACITY, WAITING, OUTAGE = 100, 1_500, 15.0
PATIENCE = 240.0
LOOPBACK = "127.0.0.0/8"


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A program of tarry, ended at the end."""
    command = [sys.executable, "-m", *arguments]
    with subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def brittle_receiver(log: Path) -> Iterator[str]:
    """It breaks above its capacity, and is down at first; gives its URL."""
    words = ("--capacity", str(CAPACITY), "--mode", "brittle", "--log", str(log))
    down = ("--down", str(OUTAGE), "--how", "500")
    with started("tarry.testing.receiver", *words, *down) as process:
        assert process.stdout
        yield process.stdout.readline().strip()


async def fill(db: str, url: str) -> None:
    async with open_hooks(db, allow_network=(LOOPBACK,)) as hooks:
        shop = await hooks.application("shop")
        await hooks.add_endpoint(shop, url)
        await hooks.send_many(
            [NewMessage(hooks.message(shop, "a.b", {"number": n})) for n in range(WAITING)]
        )


def arrivals(log: Path) -> list[tuple[float, str, int]]:
    rows = (line.split("\t") for line in log.read_text().splitlines())
    return [(float(row[0]), row[1], int(row[3])) for row in rows if len(row) == 4]


def most_in_a_second(times: Sequence[float]) -> int:
    return max(bisect_left(times, at + 1.0) - place for place, at in enumerate(times))


@pytest.mark.timeout(600)
def test_a_brittle_endpoint_that_comes_back_is_not_broken_again(tmp_path: Path) -> None:
    db, log = f"sqlite:////{str(tmp_path / 'hooks.db').lstrip('/')}", tmp_path / "log"
    with brittle_receiver(log) as url:
        back_at = time.monotonic() + OUTAGE
        assert urlsplit(url).port
        asyncio.run(fill(db, url))
        with started("tarry.cli", "worker", "--db", db, "--allow-network", LOOPBACK):
            until = back_at + PATIENCE
            while len({name for _, name, status in arrivals(log) if status == 200}) < WAITING:
                assert time.monotonic() < until, f"only {len(arrivals(log))} arrivals"
                time.sleep(0.2)
    seen = arrivals(log)
    taken = [(at, name) for at, name, status in seen if status == 200]
    after = [at for at, _, _ in seen if at >= back_at]
    assert len(taken) == len({name for _, name in taken}) == WAITING
    # At its capacity it takes 15 s, what is learned on the way costs some, and so does company.
    assert taken[-1][0] - back_at <= 4 * WAITING / CAPACITY
    assert most_in_a_second(after) <= 1.5 * CAPACITY
    assert len(seen) - len(after) <= max(0.03 * WAITING, 20) + 20  # it was down for a moment
    assert len(after) <= 1.2 * WAITING
