"""Deliver webhooks from inside a program: accepted on disk, retried by policy, signed."""

import asyncio
import json
import tempfile
from pathlib import Path

import tarry
from tarry.service import open_hooks
from tarry.testing.receiver import Receiver

QUICK = tarry.Policy(name="quick", backoff=tarry.Fixed(0.1), attempts=4, within=60)
LOOPBACK = "127.0.0.0/8"


async def deliver(database: Path, url: str) -> None:
    """Send two messages to a server that fails once, and print how they ended."""
    policy = json.dumps(QUICK.to_dict())
    async with open_hooks(f"sqlite:///{database}", allow_network=(LOOPBACK,)) as hooks:
        acme = await hooks.application("acme", name="Acme Ltd")
        endpoint = await hooks.add_endpoint(acme, url, policy=policy)
        sent = [
            await hooks.send(acme, "order.paid", {"order": order}, key=f"order-{order}")
            for order in (7, 8)
        ]
        async with hooks.dispatching():
            while (await hooks.lane(endpoint)).waiting:  # noqa: ASYNC110  a program would go on
                await asyncio.sleep(0.02)
        for accepted in sent:
            for attempt in await hooks.attempts(accepted.message):
                print(f"  attempt {attempt.number}: {attempt.status}, {attempt.decision}")


def main() -> None:
    """Run the customer's server too."""
    with tempfile.TemporaryDirectory() as folder, Receiver() as receiver:
        receiver.script([500])
        print("Delivering:")
        asyncio.run(deliver(Path(folder, "hooks.db"), receiver.url))
        print(f"The receiver answered {dict(receiver.statuses)}")


if __name__ == "__main__":
    main()
