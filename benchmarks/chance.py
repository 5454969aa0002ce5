"""Measure how soon messages get their first attempt while their endpoint fails by chance.

    ./dev bench chance [--db sqlite|postgres] [--rounds N] [--messages N] [--fail SHARE,SHARE,...]
                       [--busy N] [--json]

A real server and real receivers, with N busy processes beside them. Each round makes four
applications with an endpoint each, all at one receiver that fails a share of its requests by
chance, and hands in the messages at 125 a second. What counts is the time from the answer of the
API to the message's first attempt: at most five seconds. Lanes that the server's watchdog found
stalled are defects.
"""

import argparse
import asyncio
import json
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from served.service import PATIENCE, Service, database, free_port, serving, started

TENANTS = 4
RATE = 125.0
WITHIN = 5.0
"""The target: seconds until the first attempt."""
BUSY = "while True: sum(range(10_000))"


@dataclass(frozen=True)
class Round:
    """What came of one round. Times are in seconds."""

    fail: str
    messages: int
    p99: float
    worst: float
    late: int
    untried: int
    stalled: int

    @property
    def verdict(self) -> str:
        """Whether the target is met."""
        return "MISS" if self.late or self.untried or self.stalled else "pass"


async def run_round(service: Service, number: int, url: str, fail: str, messages: int) -> Round:
    """Send the messages of one round and wait for the first attempt of each."""
    tenants = [f"r{number}-{tenant}" for tenant in range(TENANTS)]
    for tenant in tenants:
        await service.post("/app", uid=tenant, name=tenant)
        await service.post(f"/app/{tenant}/endpoint", uid="e", url=f"{url}/{tenant}")
    accepted: dict[str, float] = {}
    began = time.monotonic()
    for index in range(messages):
        tenant = tenants[index % TENANTS]
        message = await service.send(tenant, index)
        accepted[message] = time.time()
        await asyncio.sleep(max(0.0, began + index / RATE - time.monotonic()))
    first: dict[str, float] = {}
    until = time.monotonic() + PATIENCE
    while accepted.keys() - first.keys() and time.monotonic() < until:
        await asyncio.sleep(1)
        for tenant in tenants:
            first |= await service.first_attempts(tenant, "e")
    waits = sorted(first[message] - at for message, at in accepted.items() if message in first)
    return Round(
        fail,
        messages,
        round(waits[int(0.99 * (len(waits) - 1))], 3),
        round(waits[-1], 3),
        sum(1 for wait in waits if wait > WITHIN),
        messages - len(waits),
        await service.stalled(),
    )


async def run_rounds(db: str, folder: Path, options: argparse.Namespace) -> list[Round]:
    """Start server and receivers, and run the rounds, one share that fails after the other."""
    rounds: list[Round] = []
    with ExitStack() as running:
        urls: dict[str, str] = {}
        for fail in options.fail:
            port = free_port()
            listen = ("-m", "tarry.cli", "listen", "--port", str(port), "--fail", f"{fail}%")
            running.enter_context(started(*listen, log=folder / f"listen-{fail}"))
            urls[fail] = f"http://127.0.0.1:{port}/hooks"
        for number in range(options.busy):
            running.enter_context(started("-c", BUSY, log=folder / f"busy-{number}"))
        async with serving(db, folder) as service:
            for number in range(options.rounds):
                fail = options.fail[number % len(options.fail)]
                rounds.append(await run_round(service, number, urls[fail], fail, options.messages))
                if not options.json:
                    print(line(number, rounds[-1]), flush=True)
    return rounds


def line(number: int, result: Round) -> str:
    """Return what to print of a round."""
    return (
        f"{result.verdict}  round {number + 1}: {result.fail} % of {result.messages} fail;"
        f" first attempts p99 {result.p99:.2f} s, worst {result.worst:.2f} s;"
        f" {result.late} late, {result.untried} untried, {result.stalled} lanes stalled"
    )


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(
        prog="./dev bench chance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--db", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--messages", type=int, default=600, help="in each round")
    parser.add_argument(
        "--fail", type=lambda text: text.split(","), default=["10", "20", "30", "40", "50"]
    )
    parser.add_argument("--busy", type=int, default=2, help="busy processes beside it")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with database(options.db) as (db, folder):
        rounds = asyncio.run(run_rounds(db, folder, options))
    if options.json:
        rows = [{**asdict(result), "verdict": result.verdict} for result in rounds]
        print(json.dumps({"db": options.db, "busy": options.busy, "rounds": rows}, indent=2))
        return
    missed = sum(result.verdict != "pass" for result in rounds)
    worst = max(result.worst for result in rounds)
    print(f"{options.db}: {missed} of {len(rounds)} rounds missed; worst {worst:.2f} s")


if __name__ == "__main__":
    main()
