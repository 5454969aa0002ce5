from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry.call.world import world
from tarry.core.backoff import Exponential, Fixed
from tarry.core.budget import QuotaRule
from tarry.core.jitter import Decorrelated, Full, Jitter, NoJitter, Smooth
from tarry.core.outcome import Failure
from tarry.core.policy import Policy
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant
from tarry.sim.server.layers import Call, Layer

PLAIN = Policy(backoff=Fixed(1), jitter=NoJitter(), attempts=3)
TAKES = 0.1


def layer(policy: Policy, contestant: Contestant | None = None, *, retries: bool = True) -> Layer:
    return Layer(contestant or Contestant("", policy), policy, Chance(1), 0, retries=retries)


def test_a_call_is_retried_as_its_policy_says() -> None:
    first, call = layer(PLAIN), Call(0, 5.0)
    waits = []
    for _ in range(3):
        assert first.begin(call, 5.0)
        waits.append(first.after_failure(call, Failure(), 5.0))
    assert waits == [1.0, 1.0, None]


def test_a_hop_that_knows_of_a_retry_further_out_makes_one_attempt() -> None:
    inner, call = layer(PLAIN, retries=False), Call(0, 5.0)
    assert inner.begin(call, 5.0)
    assert inner.after_failure(call, Failure(), 5.0) is None


def test_a_call_of_a_call_is_one_hop_further_on() -> None:
    outer = Call(7, 1.0)
    inner = Call(7, 2.0, outer)
    assert (outer.layer, inner.layer, inner.caller, inner.started_at) == (0, 1, outer, 2.0)


def test_a_spent_budget_ends_a_call() -> None:
    first = layer(PLAIN, Contestant("", PLAIN, QuotaRule(capacity=5, cost=5)))
    ends = []
    for number in range(2):
        call = Call(number, 0.0)
        assert first.begin(call, 0.0)
        ends.append(first.after_failure(call, Failure(), 0.0))
    assert ends == [1.0, None]


def test_each_hop_draws_by_itself() -> None:
    policy = PLAIN.replace(jitter=Full())
    chance = Chance(1)
    waits = []
    for place in (0, 1):
        call = Call(0, 0.0)
        at = Layer(Contestant("", policy), policy, chance, place, retries=True)
        at.begin(call, 0.0)
        waits.append(at.after_failure(call, Failure(), 0.0))
    assert waits[0] != waits[1]


Log = list[tuple[str, float]]


def told_by_the_library(
    policy: Policy,
    script: list[list[bool]],
    quota: tarry.Quota,
    breaker: tarry.Breaker,
    draw: float,
) -> Log:
    """When each attempt began and how each call ended, as the library does it."""
    log: Log = []
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "clock", lambda: now)
        patch.setattr(world, "sleep", sleep)
        patch.setattr(world, "draw", lambda: draw)
        for luck in script:
            left = iter(luck)

            @tarry.retry(policy, on=ConnectionError, budget=quota, breaker=breaker)
            def work(left: Callable[[], bool] = left.__next__) -> None:
                nonlocal now
                log.append(("attempt", now))
                now += TAKES
                if not left():
                    raise ConnectionError

            try:
                work()
            except (ConnectionError, tarry.CircuitOpen):
                log.append(("failed", now))
            else:
                log.append(("answered", now))
            now += 1.0
    return log


def told_by_a_hop(
    policy: Policy,
    script: list[list[bool]],
    quota: tarry.Quota,
    breaker: tarry.Breaker,
    draw: float,
) -> Log:
    """The same, as a layer does it."""
    log: Log = []
    now = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chance, "draws", lambda *_: lambda: draw)
        at = layer(policy, Contestant("", policy, quota.rule, breaker.rule))
    for luck in script:
        call, left = Call(0, now), iter(luck)
        while True:
            if not at.begin(call, now):
                log.append(("failed", now))
                break
            log.append(("attempt", now))
            now += TAKES
            if next(left):
                at.after_success(call, now)
                log.append(("answered", now))
                break
            delay = at.after_failure(call, Failure(), now)
            if delay is None:
                log.append(("failed", now))
                break
            now += delay
        now += 1.0
    return log


@given(
    st.sampled_from([NoJitter(), Full(), Decorrelated(), Smooth()]),
    st.lists(st.lists(st.booleans(), min_size=4, max_size=4), max_size=30),
    st.builds(tarry.Quota, st.sampled_from([5, 20, 500])),
    st.builds(tarry.Breaker, st.sampled_from([2, 3, 50]), st.sampled_from([1.0, 9.0])),
    st.floats(0, 1, exclude_max=True),
)
def test_a_hop_does_what_the_library_does(
    jitter: Jitter,
    script: list[list[bool]],
    quota: tarry.Quota,
    breaker: tarry.Breaker,
    draw: float,
) -> None:
    policy = Policy(backoff=Exponential(0.5, cap=3), jitter=jitter, attempts=4, within=5.0)
    told = told_by_a_hop(policy, script, quota, breaker, draw)
    assert told == told_by_the_library(policy, script, quota, breaker, draw)
