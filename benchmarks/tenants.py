"""Measure whether one tenant can hold up another at a real server.

    ./dev bench tenants [--db sqlite|postgres] [--seconds S] [--json]

Two things are done to a neighbour, and each time its waits are compared with those before:

- `origin`: another tenant has 40 endpoints at the neighbour's own host, and all of them fail.
  The neighbour is sent 20 messages a second.
- `replay`: another tenant replays 2,000 messages to each of its 200 endpoints at once.
  The neighbour replays ten messages to an endpoint of its own, again and again.

The 99th percentile of the neighbour's waits may at most double, or grow by a twentieth of a second
where that is more.
"""

import argparse
import asyncio
import json
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from served.service import PATIENCE, Service, database, free_port, serving, started

RATIO, EXTRA = 2.0, 0.05
"""The target: times as long, or seconds more."""
RATE = 20.0
BAD_ENDPOINTS, REPLAYS, REPLAYED, OWN_REPLAYED = 40, 200, 2_000, 10
HOST = """
import asyncio, sys
from tarry.receive.http1 import Connection, RequestReader, response

class Host(Connection):
    def received(self, request):
        self.transport.write(response(500 if request.path.startswith("/bad") else 200))

async def main():
    loop = asyncio.get_running_loop()
    place = ("127.0.0.1", int(sys.argv[1]))
    server = await loop.create_server(lambda: Host(RequestReader()), *place)
    await server.serve_forever()

asyncio.run(main())
"""
"""A host that answers 500 to paths which begin with /bad, and 200 to all others."""


@dataclass(frozen=True)
class Result:
    """What one attack did to the neighbour. Times are in seconds."""

    attack: str
    before_p50: float
    before_p99: float
    beside_p50: float
    beside_p99: float
    untried: int

    @property
    def verdict(self) -> str:
        """Whether the target is met."""
        allowed = max(self.before_p99 * RATIO, self.before_p99 + EXTRA)
        return "pass" if self.beside_p99 <= allowed and not self.untried else "MISS"


def quantile(waits: list[float], share: float) -> float:
    """Return a quantile of waits, in seconds."""
    return round(sorted(waits)[int(share * (len(waits) - 1))], 3)


def result(attack: str, before: list[float], beside: list[float]) -> Result:
    """Return what an attack did. A message that was never attempted waited for ever."""
    made = [wait for wait in beside if wait < PATIENCE] or [PATIENCE]
    return Result(
        attack,
        quantile(before, 0.5),
        quantile(before, 0.99),
        quantile(made, 0.5),
        quantile(made, 0.99),
        sum(1 for wait in beside if wait >= PATIENCE),
    )


async def waits_until_tried(
    service: Service, tenant: str, endpoint: str, since: dict[str, float]
) -> list[float]:
    """Return how long after `since` each message was first attempted, at most `PATIENCE`."""
    first: dict[str, float] = {}
    until = time.monotonic() + PATIENCE
    while since.keys() - first.keys() and time.monotonic() < until:
        await asyncio.sleep(0.2)
        first = await service.first_attempts(tenant, endpoint)
    return [first.get(message, at + PATIENCE) - at for message, at in since.items()]


async def send_steadily(service: Service, tenant: str, seconds: float) -> list[float]:
    """Send messages at a rate and return how long each waited for its first attempt."""
    accepted: dict[str, float] = {}
    began = time.monotonic()
    for index in range(int(RATE * seconds)):
        await asyncio.sleep(max(0.0, began + index / RATE - time.monotonic()))
        message = await service.send(tenant, index)
        accepted[message] = time.time()
    return await waits_until_tried(service, tenant, "e", accepted)


async def attack_origin(service: Service, host: str, seconds: float) -> Result:
    """Let another tenant's endpoints at the neighbour's host fail."""
    for tenant in ("good", "bad"):
        await service.post("/app", uid=tenant, name=tenant)
    await service.post("/app/good/endpoint", uid="e", url=f"{host}/good")
    before = await send_steadily(service, "good", seconds)
    for number in range(BAD_ENDPOINTS):
        await service.post("/app/bad/endpoint", uid=f"e{number}", url=f"{host}/bad/{number}")

    async def keep_failing() -> None:
        for index in range(int(RATE * seconds)):
            await service.send("bad", index)
            await asyncio.sleep(1 / RATE)

    beside, _ = await asyncio.gather(send_steadily(service, "good", seconds), keep_failing())
    return result("origin", before, beside)


async def replay_again_and_again(service: Service, host: str, times: range) -> list[float]:
    """Replay the neighbour's messages to one new endpoint after the other; return all waits."""
    waits: list[float] = []
    messages = await service.messages("late")
    for number in times:
        endpoint = f"e{number}"
        await service.post("/app/late/endpoint", uid=endpoint, url=f"{host}/late/{number}")
        asked_at = time.time()
        await service.replay("late", endpoint, BEGINNING)
        since = dict.fromkeys(messages, asked_at)
        waits += await waits_until_tried(service, "late", endpoint, since)
    return waits


async def attack_replay(service: Service, host: str, seconds: float) -> Result:
    """Let another tenant replay much to many endpoints at once."""
    for tenant, messages in (("late", OWN_REPLAYED), ("greedy", REPLAYED)):
        await service.post("/app", uid=tenant, name=tenant)
        for index in range(messages):
            await service.send(tenant, index)
    trials = max(2, int(seconds))
    before = await replay_again_and_again(service, host, range(trials))
    for number in range(REPLAYS):
        await service.post("/app/greedy/endpoint", uid=f"g{number}", url=f"{host}/g/{number}")
    for number in range(REPLAYS):
        await service.replay("greedy", f"g{number}", BEGINNING)
    beside = await replay_again_and_again(service, host, range(trials, 2 * trials))
    return result("replay", before, beside)


BEGINNING = datetime.now(UTC).isoformat()


async def run_attacks(db: str, folder: Path, seconds: float) -> list[Result]:
    """Run one attack after the other at one server."""
    port = free_port()
    with started("-c", HOST, str(port), log=folder / "host"):
        async with serving(db, folder) as service:
            url = f"http://127.0.0.1:{port}"
            return [
                await attack_origin(service, url, seconds),
                await attack_replay(service, url, seconds),
            ]


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(
        prog="./dev bench tenants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--db", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with database(options.db) as (db, folder):
        results = asyncio.run(run_attacks(db, folder, options.seconds))
    if options.json:
        rows = [{**asdict(found), "verdict": found.verdict} for found in results]
        print(json.dumps({"db": options.db, "attacks": rows}, indent=2))
        return
    for found in results:
        print(
            f"{found.verdict}  {found.attack}, {options.db}: the neighbour's p99"
            f" {found.before_p99:.3f} s before, {found.beside_p99:.3f} s beside it"
            f" (p50 {found.before_p50:.3f}, {found.beside_p50:.3f}); {found.untried} untried"
        )


if __name__ == "__main__":
    main()
