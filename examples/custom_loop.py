"""A loop of your own around `decide`: a small queue that keeps due times, as a database would.

No sleeping, no clock: the time jumps from one due time to the next, so an hour passes at once.
"""

import heapq
import random
from dataclasses import dataclass

import tarry

POLICY = tarry.Policy(
    backoff=tarry.Schedule([10, 30, 120, 600]), jitter=tarry.Percent(0.2), attempts=5, within=3600
)
OUTAGE = 100.0
"""For how many seconds the receiver is down."""
MALFORMED = 3
"""The number of a message that fails at every attempt."""


@dataclass
class Delivery:
    """One queued message, like a row of a table."""

    number: int
    progress: tarry.Progress


def send(delivery: Delivery, now: float) -> tarry.Success | tarry.Failure:
    """Send it, in the world of this example."""
    if delivery.number == MALFORMED:
        return tarry.Failure(tarry.Kind.PERMANENT)
    return tarry.Failure(tarry.Kind.TRANSIENT) if now < OUTAGE else tarry.Success()


def main() -> None:
    """Deliver three messages to a receiver that is down at first."""
    draw = random.Random(1).random  # noqa: S311  no secret
    queue = [(0.0, number, Delivery(number, tarry.Progress())) for number in (1, 2, 3)]
    while queue:
        now, number, delivery = heapq.heappop(queue)
        outcome = send(delivery, now)
        attempt = delivery.progress.attempts
        said = f"{now:6.1f} s  message {number}, attempt {attempt}:"
        match tarry.decide(POLICY, delivery.progress, outcome, now=now, draw=draw):
            case tarry.Done():
                print(said, "delivered")
            case tarry.Again(delay=delay) as again:
                print(said, f"failed, again in {delay:.1f} s")
                delivery.progress = delivery.progress.after(again)
                heapq.heappush(queue, (now + delay, number, delivery))
            case tarry.GiveUp(why=why):
                print(said, f"given up, {why}")


if __name__ == "__main__":
    main()
