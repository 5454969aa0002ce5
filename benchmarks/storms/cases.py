"""What is timed: each model at work, and beside it the least that any program would have to do.

`share` is the part of the full size that a case is run at: quick runs are small.
"""

import random
from collections.abc import Iterator, Mapping
from functools import partial
from heapq import heapify, heapreplace
from itertools import pairwise

import numpy as np

from storms.case import Case
from tarry.core.backoff import Exponential
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.jitter import Decorrelated, Equal, Full, Jitter, NoJitter, Percent, Smooth
from tarry.core.policy import Policy
from tarry.sim.backlog.model import Backlog
from tarry.sim.chance import Chance
from tarry.sim.contention import Contention
from tarry.sim.fluid import sweep
from tarry.sim.run import Contestant
from tarry.sim.server.model import Server
from tarry.sim.timeline import Timeline

TIMELINE = "Timeline, 1,000,000 clients x 8 attempts"
BACKLOG = "Recovery, 10,000 deliveries, an hour"
SERVER = "Server model"
CONTENTION = "Contention"
FLUID = "Fluid model, 1,000 points"
NUMPY, HEAP = "bare numpy", "bare heap"
"""The floors."""

CLIENTS, RETRIES = 1_000_000, 8
IN_CACHE = 2**15
DELIVERIES = 10_000
HEAP_EVENTS = 300_000
WRITERS = 2_000
POINTS = 1_000

JITTERS: tuple[Jitter, ...] = (
    *(NoJitter(), Full(), Equal(), Percent(0.25), Decorrelated(), Smooth()),
)
MINUTE = Exponential(base=1, cap=60)
QUICK = Policy(attempts=4, within=None, backoff=Exponential(base=0.1, cap=10), jitter=Full())


def all_cases(share: float) -> list[Case]:
    """Everything, in the order of the tables."""
    return [
        *_timeline(share),
        *_backlog(share),
        *_server(share),
        *_contention(share),
        *_fluid(share),
    ]


# --- Timeline -----------------------------------------------------------------------------------


def _timeline(share: float) -> Iterator[Case]:
    clients = int(CLIENTS * share)
    yield Case(TIMELINE, NUMPY, partial(_summed_up, clients))
    timeline = Timeline(clients=clients, retries=RETRIES)
    for jitter in JITTERS:
        policy = Policy(backoff=MINUTE, jitter=jitter)
        yield Case(TIMELINE, type(jitter).__name__, partial(_arrivals, timeline, policy))


def _summed_up(clients: int) -> int:
    """Draw, add up, count; in parts that the processor's cache can hold."""
    chance, counted = np.random.Generator(np.random.Philox(1)), 0
    for start in range(0, clients, IN_CACHE):
        draws = chance.random((RETRIES, min(IN_CACHE, clients - start)))
        for row, following in pairwise(draws):
            np.add(row, following, out=following)
        draws *= 10
        counted += int(np.bincount(draws.astype(np.int64).ravel()).sum())
    return counted


def _arrivals(timeline: Timeline, policy: Policy) -> int:
    run = timeline.simulate(Contestant("policy", policy), Chance(1))
    return int(run.curves["arrivals"].values.sum())


# --- Backlog ------------------------------------------------------------------------------------


def _backlog(share: float) -> Iterator[Case]:
    waiting = int(DELIVERIES * share)
    capacity = waiting / 50
    world = partial(Backlog, waiting=waiting, outage=600)
    brittle = world(capacity=capacity, endpoint="brittle")
    alone: Mapping[str, tuple[Backlog, Jitter]] = {
        "alone, recovering": (world(capacity=capacity, endpoint="shed"), Full()),
        "alone, stuck, Full": (brittle, Full()),
        "alone, stuck, Smooth": (brittle, Smooth()),
        "alone, stuck, Decorrelated": (brittle, Decorrelated()),
    }
    for row, (backlog, jitter) in alone.items():
        policy = Policy(backoff=MINUTE, jitter=jitter, attempts=None, within=None)
        yield Case(BACKLOG, row, partial(_attempts, backlog, policy))
    # The pacer never gets stuck; it has not enough time if the endpoint is slow enough.
    paced = {
        "paced, recovering": brittle,
        "paced, too slow an endpoint": world(capacity=max(1, waiting / 5_000), endpoint="brittle"),
    }
    for row, backlog in paced.items():
        yield Case(BACKLOG, row, partial(_attempts, backlog, None))


def _attempts(backlog: Backlog, policy: Policy | None) -> int:
    run = backlog.simulate(Contestant("policy", policy), Chance(1))
    during, after = run.metrics["attempts_during_outage"] or 0.0, run.curves["arrivals"]
    return int(during + after.values[after.seconds >= 0].sum())


# --- Server -------------------------------------------------------------------------------------


def _server(share: float) -> Iterator[Case]:
    yield Case(SERVER, HEAP, partial(_heap_of, 100, int(HEAP_EVENTS * share)))
    plain = Contestant("retries", QUICK)
    quota = Contestant("quota", QUICK, budget=QuotaRule())
    ratio = Contestant("ratio", QUICK, budget=RatioRule(ratio=0.1))
    world = partial(Server, workers=100, timeout=1, warmup=5)
    slow = partial(world, load=0.5, slowdown=20 * share)
    rows: Mapping[str, tuple[Server, Contestant]] = {
        "calm": (world(load=0.7, watch=120 * share), plain),
        "stuck": (slow(watch=60 * share), plain),
        "with Quota": (slow(watch=120 * share), quota),
        "with Ratio": (slow(watch=120 * share), ratio),
        "three layers": (
            world(load=0.1, layers=3, outage=20 * share, watch=15 * share),
            plain,
        ),
    }
    for row, (server, contestant) in rows.items():
        yield Case(SERVER, row, partial(_events, server, contestant))


def _events(server: Server, contestant: Contestant) -> int:
    return server.play(contestant, Chance(1)).events


def _heap_of(entries: int, events: int) -> int:
    """Take the earliest of a heap and put a later one in its place, so many times."""
    later = random.Random(1).random
    heap = [(later(), number) for number in range(entries)]
    heapify(heap)
    for number in range(events):
        heapreplace(heap, (heap[0][0] + later(), number))
    return events


# --- Contention and fluid -----------------------------------------------------------------------


def _contention(share: float) -> Iterator[Case]:
    writers = int(WRITERS * share)
    contention = Contention(clients=writers)
    contestant = Contestant("full", Policy(backoff=Exponential(base=0.01, cap=2), jitter=Full()))
    entries = int(HEAP_EVENTS * share)
    yield Case(CONTENTION, HEAP, lambda: 2 * _heap_of(writers, entries))  # a read, or a write
    yield Case(CONTENTION, f"{WRITERS:,} clients", partial(_messages, contention, contestant))


def _messages(contention: Contention, contestant: Contestant) -> int:
    """Four to a write: read, its answer, write, its answer."""
    return 4 * int(contention.simulate(contestant, Chance(1)).metrics["calls"] or 0)


def _fluid(share: float) -> Iterator[Case]:
    points = int(POINTS * share)
    yield Case(FLUID, "sweep", partial(_swept, points))


def _swept(points: int) -> int:
    loads, retries = np.linspace(0.1, 0.95, points), np.arange(points) % 4
    return len(sweep(loads, retries).recovery)
