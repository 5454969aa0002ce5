"""The server model without trouble is an M/M/c queue, for which there is a closed form."""

import math
from statistics import fmean

import numpy as np
import pytest

from tarry.core.policy import Policy
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant
from tarry.sim.server.model import Server

ONCE = Contestant("no retries", Policy(attempts=1))


def erlang_tail(load: float, seconds: float, workers: int = 10, rate: float = 10.0) -> float:
    """P(T > t) of an M/M/c queue: a wait, which Erlang's C has some wait, and a service."""
    offered = load * workers
    full = offered**workers / math.factorial(workers) / (1 - load)
    others = sum(offered**busy / math.factorial(busy) for busy in range(workers))
    waits = full / (others + full)
    spare = rate * workers * (1 - load)
    served, waited = math.exp(-rate * seconds), math.exp(-spare * seconds)
    if math.isclose(spare, rate):
        both = (1 + rate * seconds) * served
    else:
        both = (spare * served - rate * waited) / (spare - rate)
    return (1 - waits) * served + waits * both


def erlang_quantile(load: float, share: float) -> float:
    """How long all but this share take at most, by halving."""
    low, high = 0.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if erlang_tail(load, middle) > share else (low, middle)
    return low


def test_the_closed_form_is_the_published_one() -> None:
    assert erlang_tail(0.5, 0.3) == pytest.approx(0.0502, abs=5e-5)
    assert erlang_tail(0.7, 0.3) == pytest.approx(0.0553, abs=5e-5)
    assert erlang_tail(0.9, 0.3) == pytest.approx(0.1497, abs=5e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("load", "watch"), [(0.5, 1_000), (0.7, 2_000), (0.9, 5_000)])
def test_ten_workers_make_a_queue_as_erlang_has_it(load: float, watch: float) -> None:
    tails, p99s = [], []
    server = Server(load=load, watch=watch)
    for seed in (5, 6, 7):
        trace = server.play(ONCE, Chance(seed))
        took = (trace.ended - trace.began)[trace.succeeded & (trace.began >= 20)]
        tails.append(float((took > 0.3).mean()))
        p99s.append(float(np.quantile(took, 0.99)))
    assert fmean(tails) == pytest.approx(erlang_tail(load, 0.3), rel=0.05)
    assert fmean(p99s) == pytest.approx(erlang_quantile(load, 0.01), rel=0.05)
