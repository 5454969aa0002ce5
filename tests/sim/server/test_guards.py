from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.call.breaker import Breaker
from tarry.call.budget import Quota, Ratio
from tarry.call.world import world
from tarry.core.breaker import FAILED, PASSED, BreakerRule, Verdict
from tarry.core.budget import QuotaRule, RatioRule
from tarry.errors import CircuitOpen
from tarry.sim.server.guards import Circuit, Share, Tokens, budget_of


def half() -> float:
    return 0.5


def test_a_quota_lends_what_it_has_and_gets_it_back_from_those_who_succeed() -> None:
    budget = budget_of(QuotaRule(capacity=10, cost=5, pay_back=1))
    assert isinstance(budget, Tokens)
    assert [budget.take(0.0) for _ in range(3)] == [True, True, False]
    budget.succeed(retried=True)
    assert [budget.take(0.0) for _ in range(2)] == [True, False]


def test_a_ratio_lends_its_share_of_the_calls() -> None:
    budget = budget_of(RatioRule(0.1, 10, 0))
    assert isinstance(budget, Share)
    for place in range(30):
        budget.call(place / 10)
    assert [budget.take(3.0) for _ in range(4)] == [True, True, True, False]
    assert not budget.take(30.0)  # all forgotten


def test_a_circuit_opens_and_lets_a_probe_through() -> None:
    circuit = Circuit(BreakerRule(failures=2, open_for=10, jitter=0), half)
    for _ in range(2):
        ticket = circuit.enter(1.0)
        assert ticket is not None
        circuit.leave(ticket, FAILED, took=0.1, now=1.0)
    assert circuit.enter(2.0) is None
    assert circuit.refuses(until=10.9)
    assert not circuit.refuses(until=11.0)
    probe = circuit.enter(11.0)
    assert probe is not None
    assert circuit.enter(11.0) is None  # one probe at a time
    circuit.leave(probe, PASSED, took=0.1, now=11.1)
    assert circuit.enter(11.2) is not None


calls_and_takes = st.lists(st.tuples(st.floats(0, 3), st.sampled_from("ctps")), max_size=100)


@given(
    st.builds(Quota, st.sampled_from([5, 12, 20]), st.just(5), st.sampled_from([0, 1, 2.5]))
    | st.builds(Ratio, st.sampled_from([0.1, 0.5, 1.0]), st.just(10), st.integers(0, 3)),
    calls_and_takes,
)
def test_a_budget_says_what_the_library_would_say(
    real: Quota | Ratio, life: list[tuple[float, str]]
) -> None:
    budget, now = budget_of(real.rule), 0.0
    for step, what in life:
        now += step
        if what == "c":
            real.call(now)
            budget.call(now)
        elif what == "t":
            assert budget.take(now) == real.take(now)
        else:
            real.succeed(retried=what == "p")
            budget.succeed(retried=what == "p")


class Twins:
    """A breaker of the library, and the simulator's beside it."""

    def __init__(self, real: Breaker) -> None:
        self.now = 100.0
        self._real = real
        self._circuit = Circuit(real.rule, half)
        self._held: list[int] = []

    def push(self, seconds: float) -> None:
        self.now += seconds

    def enter(self) -> None:
        ticket = self._circuit.enter(self.now)
        if ticket is None:
            with pytest.raises(CircuitOpen):
                self._real.enter()
            return
        assert self._real.enter() == ticket
        self._held.append(ticket)

    def leave(self, which: int, verdict: Verdict, took: float) -> None:
        if self._held:
            ticket = self._held.pop(which % len(self._held))
            self._real.leave(ticket, verdict, self.now - took)
            self._circuit.leave(ticket, verdict, took=took, now=self.now)

    def compare(self, delay: float) -> None:
        at, until = self._real.retry_at, self.now + delay
        assert self._circuit.refuses(until=until) == (at is not None and until < at)


steps = st.one_of(
    st.builds(lambda seconds: lambda twins: twins.push(seconds), st.floats(0, 4) | st.just(20.0)),
    st.just(Twins.enter),
    st.builds(
        lambda *said: lambda twins: twins.leave(*said),
        st.integers(0, 99),
        st.sampled_from([PASSED, FAILED]),
        st.sampled_from([0.5, 1.5]),
    ),
)
breakers = st.builds(
    Breaker,
    st.integers(1, 4),
    st.just(10),
    rate=st.none() | st.just(0.5),
    slow=st.none() | st.just(1.0),
    minimum=st.just(4),
    window=st.just(5),
    probes=st.integers(1, 3),
    lease=st.just(7),
)


@given(breakers, st.lists(steps, max_size=80), st.floats(0, 12))
def test_a_circuit_does_what_the_library_would_do(
    real: Breaker, life: list[Callable[[Twins], None]], delay: float
) -> None:
    twins = Twins(real)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "clock", lambda: twins.now)
        patch.setattr(world, "draw", half)
        for step in life:
            step(twins)
            twins.compare(delay)
