import math
from typing import Any

import numpy as np
import pytest

from tarry.core.budget import RatioRule
from tarry.core.policy import Policy
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.chance import Chance
from tarry.sim.fluid import drain_time, sweep
from tarry.sim.run import Contestant
from tarry.sim.server.model import Server

LOADS = np.array([0.2, 0.3, 0.5, 0.7, 0.85, 0.9])


def test_the_drain_law() -> None:
    assert drain_time(LOADS, 0).tolist() == pytest.approx([2.5, 5.714, 16, 40, 100, 160], abs=1e-3)
    assert drain_time([0.2, 0.25, 0.9], 3).tolist() == pytest.approx([70, math.inf, math.inf])
    assert drain_time(0.05, 0) == 0  # the slow server is fast enough
    assert drain_time(0.5, 0, slowdown=10, speed=0.3) == pytest.approx(4)


def test_without_retries_a_flow_drains_by_the_law() -> None:
    loads, speeds, lasting = np.meshgrid(
        np.linspace(0.12, 0.9, 12), np.linspace(0.01, 1, 8), [2.0, 10.0, 33.3]
    )
    found = sweep(loads, 0, speed=speeds, slowdown=lasting, watch=400)
    law = lasting * np.maximum(0, loads - speeds) / (1 - loads)
    assert np.abs(found.drained - law).max() < 0.25  # steps of a tenth
    assert (found.recovery <= found.drained).all()


def test_with_retries_it_drains_by_the_law_within_a_fifth() -> None:
    """A little sooner: a slowdown takes seconds to bring on the last retries."""
    loads, retries = np.array([0.15, 0.2, 0.3, 0.4]), np.array([3, 3, 2, 1])
    found = sweep(loads, retries, slowdown=60, watch=1_000)
    assert found.drained == pytest.approx(drain_time(loads, retries, slowdown=60), rel=0.2)


def test_a_server_gets_stuck_where_its_retries_alone_fill_it() -> None:
    loads, retries = np.meshgrid(np.linspace(0.16, 0.96, 33), np.arange(7))
    offered = loads * (1 + retries)
    stuck = np.isinf(sweep(loads, retries, watch=1_500).recovery)
    assert stuck[offered >= 1].all()
    assert not stuck[offered < 0.97].any()


def test_the_shape_of_the_settings_is_the_shape_of_the_answer() -> None:
    loads, retries = np.meshgrid(np.linspace(0.1, 0.9, 5), np.arange(4))
    found = sweep(loads, retries, allowed=[[math.inf], [0.5], [0.1], [0.0]])
    assert found.recovery.shape == found.drained.shape == (4, 5)
    assert sweep(0.5, 3).recovery.shape == ()
    alone = sweep(loads[2, 3], 2, allowed=0.1)
    assert found.recovery[2, 3] == alone.recovery


def test_a_budget_of_nothing_is_no_retries() -> None:
    assert sweep(LOADS, 3, allowed=0).recovery.tolist() == sweep(LOADS, 0).recovery.tolist()
    tight, loose = (sweep(LOADS, 3, allowed=share).recovery for share in (0.1, 0.2))
    assert (tight <= loose).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("loads", [0.5, 0.0]), ("loads", math.nan), ("retries", -1), ("speed", 0), ("allowed", -0.1)],
)
def test_a_setting_that_cannot_be_is_refused(name: str, value: object) -> None:
    given: dict[str, Any] = {"loads": 0.5, "retries": 3, name: value}
    with pytest.raises(ScenarioError) as caught:
        sweep(**given)
    assert caught.value.field == name


def test_a_duration_that_cannot_be_is_refused() -> None:
    for name in ("timeout", "watch"):
        with pytest.raises(PolicyError, match=name):
            sweep(0.5, 3, **{name: -1.0})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "retries", "rule"),
    [
        (0.15, 3, None),
        (0.4, 3, None),
        (0.3, 1, None),
        (0.7, 1, None),
        (0.6, 0, None),
        (0.5, 3, RatioRule(0.1)),
        (0.9, 3, RatioRule(0.2)),
    ],
)
def test_flow_and_events_agree_on_what_becomes_of_a_server(
    load: float, retries: int, rule: RatioRule | None
) -> None:
    flow = sweep(load, retries, allowed=math.inf if rule is None else rule.ratio)
    contestant = Contestant("", Policy(attempts=1 + retries, within=None), rule)
    server = Server(load=load, timeout=1, slowdown=20)
    for seed in (1, 2):
        found = server.simulate(contestant, Chance(seed)).metrics["recovery"]
        if math.isinf(float(flow.recovery)):
            assert found is None
        else:
            assert found == pytest.approx(float(flow.recovery), rel=0.35, abs=3)
