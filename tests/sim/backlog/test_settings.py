from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from tarry.core import checks
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.backlog.endpoint import Endpoint, Manner
from tarry.sim.backlog.settings import CAPACITY_FORM, MOST_DELIVERIES, BacklogSettings
from tarry.sim.chance import Chance

SPAN = f"a number of seconds from 0 to {checks.LONGEST_DURATION:,.0f}"
SOME_SPAN = f"a number of seconds above 0, up to {checks.LONGEST_DURATION:,.0f}"
PAIR = "a pair [seconds since it came back, capacity]"


def settings(**keys: object) -> BacklogSettings:
    given: dict[str, Any] = {"waiting": 10_000, "capacity": 200, **keys}
    return BacklogSettings(**given)


def test_only_what_waits_and_what_can_be_done_must_be_said() -> None:
    plain = settings()
    assert plain.limit == 50
    assert (plain.outage, plain.endpoint, plain.error_rate, plain.arrivals) == (
        600,
        "brittle",
        0,
        0,
    )
    assert (plain.latency, plain.timeout, plain.queue, plain.watch) == (0.05, 15, 0, 3600)
    assert (plain.retry_after, plain.remembered, plain.handover, plain.lanes) == (None,) * 3 + (1,)


def test_durations_may_be_timedeltas() -> None:
    found = settings(outage=timedelta(hours=1), retry_after=timedelta(minutes=1), handover=5)
    assert (found.outage, found.retry_after, found.handover) == (3600, 60, 5)


@pytest.mark.parametrize(
    ("keys", "field", "wanted"),
    [
        ({"waiting": 0}, "waiting", "a whole number, 1 or more"),
        ({"waiting": 1.5}, "waiting", "a whole number, 1 or more"),
        ({"capacity": 0}, "capacity", CAPACITY_FORM),
        ({"capacity": True}, "capacity", CAPACITY_FORM),
        ({"capacity": "200"}, "capacity", CAPACITY_FORM),
        ({"capacity": b"200"}, "capacity", CAPACITY_FORM),
        ({"capacity": float("inf")}, "capacity", CAPACITY_FORM),
        ({"capacity": [[0, 0]]}, "capacity[0][1]", "a finite number above 0"),
        ({"capacity": [[0, 9], [-1, 9]]}, "capacity[1][0]", SPAN),
        ({"outage": -1}, "outage", SPAN),
        ({"error_rate": 1.1}, "error_rate", "a number from 0 to 1"),
        ({"arrivals": -1}, "arrivals", "a finite number, 0 or more"),
        ({"cold_start": -1}, "cold_start", SPAN),
        ({"latency": 0}, "latency", SOME_SPAN),
        ({"timeout": 0}, "timeout", SOME_SPAN),
        ({"queue": -1}, "queue", SPAN),
        ({"retry_after": -1}, "retry_after", SPAN),
        ({"remembered": 0}, "remembered", "a finite number above 0"),
        ({"lanes": 0}, "lanes", "a whole number, 1 or more"),
        ({"handover": 0}, "handover", SOME_SPAN),
        ({"watch": 0}, "watch", SOME_SPAN),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(
    keys: Mapping[str, object], field: str, wanted: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        settings(**keys)
    assert (caught.value.field, caught.value.wanted) == (field, wanted)


@pytest.mark.parametrize(
    ("keys", "field", "value", "wanted"),
    [
        ({"capacity": []}, "capacity", [], CAPACITY_FORM),
        ({"capacity": [[5, 200]]}, "capacity", [[5, 200]], CAPACITY_FORM),
        ({"capacity": [200]}, "capacity[0]", 200, PAIR),
        ({"capacity": ["ab"]}, "capacity[0]", "ab", PAIR),
        ({"capacity": [[0, 1, 2]]}, "capacity[0]", [0, 1, 2], PAIR),
        ({"capacity": [[0, 9], [0, 8]]}, "capacity[1][0]", 0.0, "later than the step before (0)"),
        ({"endpoint": "rude"}, "endpoint", "rude", "one of shed, brittle, degrade"),
        ({"waiting": MOST_DELIVERIES + 1}, "waiting", MOST_DELIVERIES + 1, "at most 10,000,000"),
        ({"outage": 1e9}, "outage", 1e9, "at most 2,592,000 s"),
        ({"watch": 1_000_001}, "watch", 1_000_001.0, "at most 1,000,000 s"),
        ({"handover": 1e-6}, "handover", 1e-6, "at least 0.0042 s"),
        ({"arrivals": 1e6}, "arrivals", 1e6, "at most 2777.78 with watch = 3600"),
        ({"lanes": 10_001}, "lanes", 10_001, "at most waiting (10000)"),
        (
            {"queue": 3},
            "queue",
            3.0,
            "left out: endpoint = 'brittle' refuses nothing, 'shed' does",
        ),
        (
            {"queue": 15, "endpoint": "shed"},
            "queue",
            15.0,
            "below timeout (15), or all that waits is in vain",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_by_name(
    keys: Mapping[str, object], field: str, value: object, wanted: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        settings(**keys)
    assert (caught.value.field, caught.value.value) == (field, value)
    assert caught.value.wanted == wanted


def test_the_limit_knows_of_steps_arrivals_and_cold_starts() -> None:
    assert settings(capacity=[[0, 200], [25, 100]]).limit == pytest.approx(75)
    assert settings(arrivals=100).limit == pytest.approx(100)
    assert settings(arrivals=200).limit is None
    assert settings(cold_start=30).limit == pytest.approx(50 + 0.45 * 30)


def test_fresh_messages_arrive_at_their_rate_from_0_on() -> None:
    times = settings(arrivals=50).fresh(Chance(1))
    assert len(times) == pytest.approx(50 * 3600, abs=4 * (50 * 3600) ** 0.5)
    assert times[0] > 0
    assert times[-1] < 3600
    assert (np.diff(times) > 0).all()
    assert np.diff(times).std() == pytest.approx(1 / 50, rel=0.02)  # Poisson
    assert len(settings().fresh(Chance(1))) == 0


def test_fresh_messages_are_the_seeds_alone() -> None:
    one, two = settings(arrivals=5), settings(arrivals=5, endpoint="shed", remembered=9, latency=1)
    assert (one.fresh(Chance(3)) == two.fresh(Chance(3))).all()
    assert one.fresh(Chance(3))[0] != one.fresh(Chance(4))[0]


def test_a_world_opens_its_endpoint() -> None:
    opened = settings(capacity=5, endpoint="brittle").opened(Chance(1))
    assert isinstance(opened, Endpoint)
    assert (opened.accepts(0.0, 5), opened.accepts(0.5, 1)) == (5, 0)


@pytest.mark.parametrize("endpoint", ["brittle", "degrade"])
def test_what_feels_overload_by_the_second_must_do_one_a_second(endpoint: Manner) -> None:
    with pytest.raises(ScenarioError, match="feels overload by the second") as refused:
        BacklogSettings(waiting=5, capacity=[[0, 2], [9, 0.5]], endpoint=endpoint)
    assert (refused.value.field, refused.value.value) == ("capacity", 0.5)
    assert BacklogSettings(waiting=5, capacity=0.5, endpoint="shed").limit == 10
