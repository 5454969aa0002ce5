import json
import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.core.backoff import Exponential, Fixed
from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.jitter import Full, NoJitter
from tarry.core.policy import Policy
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.chance import Chance
from tarry.sim.fluid import drain_time
from tarry.sim.queueing import DISCIPLINES, Discipline
from tarry.sim.run import Contestant
from tarry.sim.server import Server

FOUR = Policy(attempts=4, within=None)
ONCE = Contestant("no retries", FOUR.replace(attempts=1))
RETRIES = Contestant("3 retries", FOUR)


def metrics(server: Server, contestant: Contestant, seed: int = 1) -> Mapping[str, float | None]:
    return server.simulate(contestant, Chance(seed)).metrics


def slowed(load: float, **changes: Any) -> Server:  # noqa: ANN401  any setting
    """A hundred attempts a second, of which a tenth for 20 s; clients wait for a second."""
    return Server(load=load, timeout=1, slowdown=20, **changes)


def recoveries(server: Server, contestant: Contestant, seeds: range) -> list[float | None]:
    return [metrics(server, contestant, seed)["recovery"] for seed in seeds]


def mean_recovery(server: Server, contestant: Contestant, seeds: range) -> float:
    return fmean(
        math.inf if found is None else found for found in recoveries(server, contestant, seeds)
    )


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
        ("outage", 0, "a number of seconds above 0, up to 1,000,000,000"),
        ("slowdown", "long", "a number of seconds above 0, up to 1,000,000,000"),
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
        ({"discipline": "deadline"}, "discipline", "another one, unless timeout is given"),
        ({"discipline": "feasible"}, "discipline", "another one, unless timeout is given"),
        ({"warmup": 0, "watch": 0}, "watch", "above 0: nothing would happen"),
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


# Agreement with queueing theory


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "seconds"), [(0.5, 16.0), (0.7, 40.0), (0.85, 100.0), (0.9, 160.0)]
)
def test_a_backlog_drains_as_the_fluid_law_says(load: float, seconds: float) -> None:
    """Drained is when the line is empty, seen each second; back is a little before."""
    assert drain_time(load, 0) == pytest.approx(seconds)
    drained, recovered = [], []
    for seed in range(1, 9):
        run = slowed(load).simulate(ONCE, Chance(seed))
        line = run.curves["queue"]
        after = (line.seconds > 40) & (line.values == 0)
        drained.append(float(line.seconds[after][0] - 40))
        recovered.append(run.metrics["recovery"])
    assert fmean(drained) == pytest.approx(seconds, rel=0.2)
    assert fmean(found for found in recovered if found is not None) == pytest.approx(
        seconds, rel=0.2
    )


# Metastable failure: FIFO, 1 s of patience, service at a tenth for 20 s


SLOW = Exponential(1, cap=20)


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        FOUR,
        FOUR.replace(jitter=NoJitter()),
        FOUR.replace(jitter=Full()),
        FOUR.replace(backoff=SLOW),
    ],
    ids=["smooth", "none", "full", "slow"],
)
@pytest.mark.parametrize(("load", "watch"), [(0.3, 360), (0.5, 200), (0.7, 200), (0.85, 200)])
def test_three_retries_keep_a_server_down_whatever_the_jitter(
    policy: Policy, load: float, watch: float
) -> None:
    found = metrics(slowed(load, watch=watch), Contestant("", policy), seed=int(10 * load))
    assert found["recovery"] is None
    assert found["goodput"] == pytest.approx(0, abs=0.001)
    assert found["amplification"] == pytest.approx(4, abs=0.15)
    assert found["wasted"] == pytest.approx(1, abs=0.02)


@pytest.mark.slow
def test_below_a_quarter_of_the_capacity_three_retries_do_no_lasting_harm() -> None:
    assert 40 < mean_recovery(slowed(0.2), RETRIES, range(1, 5)) < 70
    assert mean_recovery(slowed(0.2), ONCE, range(1, 5)) < 2.5


@pytest.mark.slow
def test_with_a_quota_a_server_is_back_nearly_as_soon_as_without_retries() -> None:
    seeds = range(1, 11)
    quota = Contestant("quota", FOUR, QuotaRule())
    assert mean_recovery(slowed(0.85), quota, seeds) <= 1.25 * mean_recovery(
        slowed(0.85), ONCE, seeds
    )


@pytest.mark.slow
def test_a_ratio_lets_a_server_come_back_late_or_at_high_load_not_at_all() -> None:
    tenth, fifth = (Contestant("", FOUR, RatioRule(share)) for share in (0.1, 0.2))
    seeds = range(1, 3)
    assert 14 < mean_recovery(slowed(0.5), tenth, seeds) < 22
    assert 18 < mean_recovery(slowed(0.5), fifth, seeds) < 28
    assert 40 < mean_recovery(slowed(0.7), tenth, seeds) < 80
    assert recoveries(slowed(0.85), fifth, seeds) == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cure", "latest"),
    [
        ({"discipline": "lifo"}, 2.0),
        ({"queue": 50}, 0.5),  # half a second of work
        ({"discipline": "feasible"}, 0.5),
        ({"discipline": "codel"}, 2.0),
        ({"cancels": True}, 2.0),
    ],
    ids=["lifo", "short queue", "feasible", "codel", "cancels"],
)
@pytest.mark.parametrize("load", [0.5, 0.85])
def test_a_server_that_does_no_work_in_vain_is_back_at_once(
    cure: dict[str, Any], latest: float, load: float
) -> None:
    found = metrics(slowed(load, watch=60, **cure), RETRIES)
    assert found["recovery"] is not None
    assert found["recovery"] <= latest
    assert (found["goodput"] or 0) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("fault", [{"queue": 500}, {"discipline": "deadline"}])
def test_a_long_queue_or_a_check_that_comes_too_late_is_no_cure(fault: dict[str, Any]) -> None:
    found = metrics(slowed(0.7, watch=200, **fault), RETRIES)
    assert found["recovery"] is None
    assert found["wasted"] == pytest.approx(1, abs=0.02)


# Layers, budgets, breakers in a total outage


def dead(rate: float, outage: float = 60.0, **changes: Any) -> Server:  # noqa: ANN401  any setting
    """So many requests a second, far below the capacity, until the server is gone for good."""
    return Server(load=rate / 1_000, workers=100, outage=outage, watch=0, **changes)


@pytest.mark.parametrize(("attempts", "layers", "product"), [(4, 1, 4), (4, 2, 16), (3, 2, 9)])
def test_attempts_multiply_from_layer_to_layer(attempts: int, layers: int, product: int) -> None:
    contestant = Contestant("", FOUR.replace(attempts=attempts))
    found = metrics(dead(10, outage=30, layers=layers), contestant)
    assert found["amplification"] == product


@pytest.mark.slow
@pytest.mark.parametrize("jitter", [NoJitter(), Full()])
def test_three_layers_of_four_attempts_make_sixty_four_of_one(jitter: NoJitter | Full) -> None:
    contestant = Contestant("", FOUR.replace(jitter=jitter))
    assert metrics(dead(20, layers=3), contestant)["amplification"] == 64


@pytest.mark.slow
@pytest.mark.parametrize("rule", [QuotaRule(), RatioRule()], ids=["quota", "ratio"])
def test_with_budgets_three_layers_make_a_third_more_at_most(rule: QuotaRule | RatioRule) -> None:
    contestant = Contestant("", FOUR, rule)
    for seed in (1, 2, 3):
        found = metrics(dead(100, layers=3), contestant, seed)["amplification"]
        assert found is not None
        assert 1 < found <= 1.35


def test_if_layers_tell_each_other_only_the_first_one_retries() -> None:
    assert metrics(dead(20, layers=3, guarded=True), RETRIES)["amplification"] == 4


@pytest.mark.parametrize(
    ("error_rate", "attempts", "layers"), [(0.5, 4, 3), (0.5, 2, 3), (0.8, 3, 2)]
)
def test_with_partial_failure_the_product_is_of_what_each_layer_sees(
    error_rate: float, attempts: int, layers: int
) -> None:
    product, failing = 1.0, error_rate
    for _ in range(layers):
        product *= (1 - failing**attempts) / (1 - failing)
        failing **= attempts
    contestant = Contestant("", FOUR.replace(attempts=attempts))
    server = Server(load=0.1, layers=layers, error_rate=error_rate, watch=400)
    found = metrics(server, contestant)
    assert found["amplification"] == pytest.approx(product, rel=0.05)
    assert found["goodput"] == pytest.approx(1 - failing, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (None, (4.0, 4.0, 4.0)),
        (QuotaRule(500, 5), (2.67, 1.17, 1.02)),
        (QuotaRule(500, 14), (1.58, 1.06, 1.006)),
    ],
    ids=["none", "500/5", "500/14"],
)
def test_a_quota_is_a_fixed_number_of_retries_for_an_outage(
    rule: QuotaRule | None, expected: tuple[float, float, float]
) -> None:
    """Sixty seconds at 1, 10 and 100 requests a second, as published."""
    contestant = Contestant("", FOUR, rule)
    for rate, wanted in zip((1, 10, 100), expected, strict=True):
        found = [metrics(dead(rate), contestant, seed)["amplification"] or 0 for seed in range(6)]
        assert fmean(found) == pytest.approx(wanted, rel=0.1 if rate == 1 else 0.02)


@pytest.mark.parametrize(
    ("rule", "tripped_after"),
    [(BreakerRule(), 1), (BreakerRule(failures=None, rate=0.5), 10)],
    ids=["in a row", "rate"],
)
def test_behind_a_breaker_a_dead_server_is_left_alone(
    rule: BreakerRule, tripped_after: int
) -> None:
    guarded = Contestant("", FOUR, None, rule)
    server = Server(load=0.5, timeout=1, outage=60, watch=60)
    found, sent = metrics(server, guarded), server.play(guarded, Chance(1)).seconds.sent
    assert (found["amplification"] or 0) < 0.2
    assert sent[79] - sent[19 + tripped_after] <= 3  # probes, of three thousand requests
    assert found["recovery"] is not None
    assert found["recovery"] <= 31  # found out by the next probe
