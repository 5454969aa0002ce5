"""The library and the simulator in half a minute: `./dev tour` shows it."""

import asyncio
import itertools
import time
from collections.abc import Iterator

import tarry
from tarry.observe import Event, Retrying
from tarry.sim import Backlog, Chance, Contestant

QUICK = tarry.Policy(backoff=tarry.Exponential(base=0.05, cap=1), attempts=4, within=5)


def heading(text: str) -> None:
    """Say what comes next."""
    print(f"\n{text}\n{'─' * len(text)}")


def say(event: Event) -> None:
    """Print every retry."""
    if isinstance(event, Retrying):
        print(f"  attempt {event.attempt}: {event.error!r}; again in {event.delay * 1000:.0f} ms")


def failures(times: int) -> Iterator[bool]:
    """Return True `times` times, then always False."""
    yield from [True] * times
    yield from itertools.cycle([False])


def retry_a_function() -> None:
    """Two failures, then an answer."""
    heading("A function that fails twice")
    fails = failures(2)

    @tarry.retry(QUICK, on=ConnectionError, hooks=say)
    def fetch() -> str:
        if next(fails):
            raise ConnectionError("no route")
        return "hello"

    print("  result:", fetch())


def give_up() -> None:
    """The exception itself comes out, with a note."""
    heading("A function that never works")

    @tarry.retry(QUICK, on=ConnectionError)
    def fetch() -> str:
        raise ConnectionError("no route")

    try:
        fetch()
    except ConnectionError as error:
        print(f"  {error!r}")
        print(f"  {error.__notes__[0]}")


def open_a_circuit() -> None:
    """A breaker that opens, and one call that finds out when it may come back."""
    heading("A circuit breaker, shared by whoever calls the same thing")
    breaker = tarry.Breaker(failures=3, open_for=0.2, name="billing")

    @breaker
    def charge() -> str:
        if breaker.phase == "closed":
            raise TimeoutError("billing does not answer")
        return "paid"

    for _ in range(4):
        try:
            charge()
        except (TimeoutError, tarry.CircuitOpen) as error:
            print(f"  {error}")
    time.sleep(0.2)
    print("  0.2 s later:", charge(), "and", breaker)


async def poll() -> None:
    """Async, and a wait for a condition."""
    heading("An async job that is polled until it is done")
    progress = itertools.count(25, 25)

    @tarry.retry(tarry.Policy(backoff=tarry.Fixed(0.05)), until=lambda done: done >= 100)  # noqa: PLR2004  percent
    async def job() -> int:
        done = next(progress)
        print(f"  {done} %")
        return done

    await job()


def show_waits() -> None:
    """What a policy would do, before it does it."""
    heading("The waits of two policies, in seconds, the same for the same seed")
    curve = tarry.Exponential(base=0.1, cap=10)
    for jitter in (tarry.NoJitter(), tarry.Smooth()):
        policy = tarry.Policy(backoff=curve, jitter=jitter)
        waits = itertools.islice(policy.waits(seed=7), 9)
        print(f"  {jitter!r:12}", " ".join(f"{wait:6.2f}" for wait in waits))


def simulate_an_outage() -> None:
    """What a policy does to an endpoint that comes back, and what a paced lane does."""
    heading("10,000 deliveries wait for an endpoint that does 200 a second and breaks above that")
    outage = Backlog(waiting=10_000, capacity=200, outage=600, endpoint="brittle", watch=600)
    curve = tarry.Exponential(base=1, cap=60)
    full = tarry.Policy(backoff=curve, jitter=tarry.Full(), attempts=None, within=None)
    for name, policy in (("full jitter up to 60 s", full), ("a paced lane", None)):
        found = outage.simulate(Contestant(name, policy), Chance(seed=7)).metrics
        recovery, spent = found["recovery"], found["attempts_during_outage"]
        done = "never done" if recovery is None else f"done after {recovery:.0f} s"
        print(f"  {name:23}{done:18}{spent:9,.0f} attempts while it was down")


if __name__ == "__main__":
    retry_a_function()
    give_up()
    open_a_circuit()
    asyncio.run(poll())
    show_waits()
    simulate_an_outage()
    print("\nNext: docs/tutorial/call.md, storm.md, deliver.md; or `.venv/bin/tarry storm list`.")
