"""What a dead server gets to see: layers multiply, budgets and breakers hold back."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import pytest

from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.jitter import Full, NoJitter
from tarry.core.policy import Policy
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant
from tarry.sim.server.model import Server

FOUR = Policy(attempts=4, within=None)
RETRIES = Contestant("3 retries", FOUR)


def metrics(server: Server, contestant: Contestant, seed: int = 1) -> Mapping[str, float | None]:
    return server.simulate(contestant, Chance(seed)).metrics


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
