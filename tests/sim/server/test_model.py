import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.core.backoff import Fixed
from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.policy import Policy
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant
from tarry.sim.server.model import Server
from tarry.sim.server.queueing import DISCIPLINES, Discipline

FOUR = Policy(attempts=4, within=None)
ONCE = Contestant("no retries", FOUR.replace(attempts=1))
RETRIES = Contestant("3 retries", FOUR)


def metrics(server: Server, contestant: Contestant, seed: int = 1) -> Mapping[str, float | None]:
    return server.simulate(contestant, Chance(seed)).metrics


def slowed(load: float, **changes: Any) -> Server:  # noqa: ANN401  any setting
    """A hundred attempts a second, of which a tenth for 20 s; clients wait for a second."""
    return Server(load=load, timeout=1, slowdown=20, **changes)


# Settings


def test_a_server_spells_out_its_settings() -> None:
    server = Server(load=0.5, outage=10)
    assert (server.capacity, server.workers, server.service_time) == (100.0, 10, 0.1)
    assert tuple(server.times) == (20.0, 30.0, 390.0)
    assert tuple(Server(load=1, warmup=5, watch=7).times) == (5.0, 5.0, 12.0)
    assert list(server.measures)[:5] == ["goodput", "amplification", "recovery", "p99", "wasted"]


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("load", 0, "a finite number above 0"),
        ("workers", 0, "a whole number, 1 or more"),
        ("workers", 100_001, "a whole number from 1 to 100,000"),
        ("service_time", 0, "a number of seconds above 0, up to 1,000,000,000"),
        ("timeout", -1, "a number of seconds above 0, up to 1,000,000,000"),
        ("queue", -1, "a whole number, 0 or more"),
        ("discipline", "random", "one of fifo, lifo, deadline, feasible, codel"),
        ("cancels", 1, "true or false"),
        ("outage", -1, "a number of seconds from 0 to 1,000,000,000"),
        ("slowdown", "long", "a number of seconds from 0 to 1,000,000,000"),
        ("slowdown_speed", 0, "a number above 0, up to 1"),
        ("layers", 11, "a whole number from 1 to 10"),
        ("guarded", "yes", "true or false"),
        ("error_rate", 1.5, "a number from 0 to 1"),
        ("warmup", -1, "a number of seconds from 0 to 1,000,000,000"),
        ("watch", None, "a number of seconds from 0 to 1,000,000,000"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(key: str, value: object, wanted: str) -> None:
    given: dict[str, Any] = {"load": 0.5, "timeout": 1, key: value}
    with pytest.raises(PolicyError) as caught:
        Server(**given)
    assert (caught.value.field, caught.value.value, caught.value.wanted) == (key, value, wanted)


@pytest.mark.parametrize(
    ("changes", "field", "wanted"),
    [
        ({"outage": 5, "slowdown": 5}, "slowdown", "left out: there is an outage already"),
        ({"slowdown_speed": 0.5}, "slowdown_speed", "left out: nothing slows"),
        ({"discipline": "deadline"}, "discipline", "another one, unless timeout is given"),
        ({"discipline": "feasible"}, "discipline", "another one, unless timeout is given"),
        ({"warmup": 0, "watch": 0}, "watch", "above 0: nothing would happen"),
        ({"warmup": 1e9}, "warmup", "at most 1,000,000 s"),
        ({"outage": 1e9}, "outage", "at most 1,000,000 s"),
        ({"slowdown": 1e9}, "slowdown", "at most 1,000,000 s"),
        ({"watch": 1_000_001}, "watch", "at most 1,000,000 s"),
        ({"watch": 1e6}, "load", "less: 50,001,000 requests in 1.00002e+06 s are more than "),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    changes: dict[str, Any], field: str, wanted: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        Server(**{"load": 0.5, **changes})
    assert caught.value.field == field
    assert caught.value.wanted.startswith(wanted)


def test_no_seconds_of_trouble_are_no_trouble() -> None:
    plain = tuple(Server(load=0.5).times)
    assert plain == tuple(Server(load=0.5, outage=0).times)
    assert plain == tuple(Server(load=0.5, slowdown=0, slowdown_speed=0.5).times)
    assert Server(load=0.5, outage=0, slowdown=5).times.stop == 25
    calm, none = (metrics(Server(load=0.5, watch=20, outage=span), RETRIES) for span in (None, 0))
    assert calm == none


def test_the_pacer_is_refused() -> None:
    pacer = Contestant("paced", None)
    for asked in (lambda: Server(load=0.5).refuse(pacer), lambda: metrics(Server(load=0.5), pacer)):
        with pytest.raises(ScenarioError, match="only the backlog model knows the pacer"):
            asked()


@pytest.mark.parametrize(
    ("policy", "changes", "fits"),
    [
        (FOUR, {}, True),
        (FOUR, {"layers": 3}, True),
        (FOUR, {"layers": 6}, False),
        (FOUR, {"layers": 6, "guarded": True}, True),
        (FOUR.replace(attempts=None, within=45), {}, True),
        (FOUR.replace(attempts=None, backoff=Fixed(0)), {}, False),
        (FOUR.replace(attempts=10_000, backoff=Fixed(0.01)), {}, False),
    ],
)
def test_what_would_take_hours_is_refused(
    policy: Policy, changes: dict[str, Any], *, fits: bool
) -> None:
    server, contestant = Server(load=0.5, outage=60, **changes), Contestant("mine", policy)
    if fits:
        server.refuse(contestant)
    else:
        with pytest.raises(ScenarioError, match=r"more than 30,000,000 attempts \(mine\)"):
            server.refuse(contestant)
    server.refuse(Contestant("mine", policy, QuotaRule()))  # a budget keeps it small


@pytest.mark.parametrize(
    ("budget", "fits"),
    [
        (QuotaRule(capacity=1e9, cost=1), False),
        (QuotaRule(capacity=10_000, cost=1, pay_back=10_000), False),
        (QuotaRule(capacity=5, cost=5, pay_back=10_000), True),
        (QuotaRule(capacity=10_000, cost=1, pay_back=2), True),
        (RatioRule(ratio=1.0, bootstrap=10**6), False),
        (RatioRule(ratio=1.0), True),
    ],
)
def test_a_budget_counts_with_all_that_it_allows(
    budget: QuotaRule | RatioRule, *, fits: bool
) -> None:
    server = Server(load=0.5, outage=60)
    hasty = Contestant("hasty", FOUR.replace(attempts=None, backoff=Fixed(0.001)), budget)
    if fits:
        server.refuse(hasty)
    else:
        with pytest.raises(ScenarioError, match=r"more than 30,000,000 attempts \(hasty\)"):
            server.refuse(hasty)


# Runs


def test_the_same_seed_gives_the_same_run_to_the_byte() -> None:
    server = slowed(0.5, watch=30)
    first, again = (server.simulate(RETRIES, Chance(3)) for _ in range(2))
    other = server.simulate(RETRIES, Chance(4))
    assert json.dumps(first.metrics) == json.dumps(again.metrics) != json.dumps(other.metrics)
    for name, line in first.curves.items():
        assert line.values.tobytes() == again.curves[name].values.tobytes()


def test_requests_begin_at_the_same_times_whatever_the_policy() -> None:
    server = slowed(0.5, watch=30)
    calm, stormy = (server.play(contestant, Chance(3)) for contestant in (ONCE, RETRIES))
    assert calm.began.tobytes() == stormy.began.tobytes()
    assert calm.events < stormy.events


def test_the_lines_tell_the_story() -> None:
    lines = Server(load=0.5, timeout=1, outage=20, watch=20).simulate(RETRIES, Chance(1)).curves
    assert list(lines) == ["offered", "goodput", "queue", "capacity"]
    offered, goodput = lines["offered"].values, lines["goodput"].values
    assert offered[:20].mean() == pytest.approx(50, rel=0.15)
    assert offered[25:40].mean() == pytest.approx(200, rel=0.15)  # four attempts each
    assert goodput[21:40].tolist() == [0] * 19
    assert goodput[42:].mean() == pytest.approx(50, rel=0.15)
    assert lines["capacity"].values[[10, 30, 50]].tolist() == [100, 0, 100]


def test_a_policy_s_own_timeout_counts_if_it_is_shorter() -> None:
    hasty = Contestant("hasty", FOUR.replace(attempts=1, attempt_timeout=0.05))
    got = metrics(Server(load=0.3, timeout=1, watch=60), hasty)["goodput"]
    assert got == pytest.approx(1 - math.exp(-0.5), abs=0.03)  # done within half the mean
    patient = Contestant("patient", FOUR.replace(attempts=1, attempt_timeout=60))
    got = metrics(Server(load=0.3, timeout=1, watch=60), patient)["goodput"]
    assert got == pytest.approx(1, abs=0.01)


@settings(max_examples=25)
@given(
    load=st.floats(0.05, 1.5),
    workers=st.integers(1, 20),
    timeout=st.none() | st.floats(0.05, 3),
    queue=st.none() | st.integers(0, 50),
    discipline=st.sampled_from(DISCIPLINES),
    cancels=st.booleans(),
    trouble=st.sampled_from([{}, {"outage": 3}, {"slowdown": 3}]),
    layers=st.integers(1, 3),
    error_rate=st.sampled_from([0, 0.3]),
    guards=st.sampled_from([(None, None), (QuotaRule(50), None), (None, BreakerRule())]),
)
def test_every_run_adds_up(  # noqa: PLR0913  one argument a setting
    *,
    load: float,
    workers: int,
    timeout: float | None,
    queue: int | None,
    discipline: Discipline,
    trouble: dict[str, Any],
    layers: int,
    error_rate: float,
    guards: tuple[QuotaRule | None, BreakerRule | None],
    cancels: bool,
) -> None:
    if timeout is None and discipline in {"deadline", "feasible"}:
        timeout = 1.0
    server = Server(
        load=load,
        workers=workers,
        timeout=timeout,
        queue=queue,
        discipline=discipline,
        cancels=cancels,
        layers=layers,
        error_rate=error_rate,
        warmup=2,
        watch=6,
        **trouble,
    )
    trace = server.play(Contestant("", FOUR.replace(attempts=2), *guards), Chance(1))
    over = ~np.isnan(trace.ended)
    assert (np.diff(trace.began) > 0).all()
    assert (trace.ended[over] >= trace.began[over]).all()
    assert not trace.succeeded[~over].any()
    assert (trace.tries[trace.succeeded] >= 1).all()
    assert trace.tries.max(initial=0) <= 2**layers
    assert 0 <= trace.wasted <= trace.busy <= (server.times.end + 1) * workers * 1.5
    if timeout is None:
        assert trace.wasted == 0
    if trace.seconds.sent.size:
        assert trace.tries.sum() <= trace.seconds.sent[-1]
        assert trace.seconds.waiting.max() <= (math.inf if queue is None else queue)
