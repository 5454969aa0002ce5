import pytest

from tarry.core.backoff import Exponential, Fixed
from tarry.core.jitter import Equal, Full
from tarry.sim.recommend.candidates import Candidate, candidates
from tarry.sim.recommend.wish import Wish

PLAIN = Wish(clients=10_000, capacity=200, outage=600, latency=120)


def test_longest_waits_lie_around_the_drain_limit() -> None:
    longest = {candidate.backoff.ceiling / PLAIN.drain for candidate in candidates(PLAIN)}
    assert min(longest) == pytest.approx(1.1)
    assert max(longest) == pytest.approx(4)


@pytest.mark.parametrize(("capacity", "most"), [(40, 4), (39, 8), (4, 20)])
def test_a_small_service_gets_longer_waits_to_choose_from(capacity: float, most: float) -> None:
    wish = PLAIN.replace(capacity=capacity)
    longest = max(candidate.backoff.ceiling for candidate in candidates(wish))
    assert longest == pytest.approx(most * wish.drain, rel=0.01)


def test_each_is_there_once_rising_from_a_second_or_wide_from_the_start() -> None:
    found = candidates(PLAIN)
    assert len(set(found)) == len(found) == len({candidate.name for candidate in found})
    for candidate in found:
        first = candidate.backoff.curve(1)
        assert first == (1 if candidate.rising else candidate.backoff.ceiling)
        assert candidate.policy.name == candidate.name


def test_very_short_waits_still_have_room_to_rise() -> None:
    wish = PLAIN.replace(clients=10)
    for candidate in candidates(wish):
        if candidate.rising:
            assert candidate.backoff.curve(1) <= candidate.backoff.ceiling / 2


def test_numbers_are_round() -> None:
    for candidate in candidates(PLAIN.replace(clients=12_347)):
        assert float(f"{candidate.backoff.ceiling:.3g}") == candidate.backoff.ceiling


@pytest.mark.parametrize(
    ("candidate", "faster"),
    [
        (Candidate("a", Exponential(base=1, cap=80), Equal()), Exponential(base=0.25, cap=20)),
        (Candidate("b", Fixed(80), Full()), Fixed(20)),
    ],
)
def test_a_faster_world_has_shorter_waits(candidate: Candidate, faster: object) -> None:
    policy = candidate.faster(4)
    assert policy.backoff == faster
    assert policy.jitter == candidate.jitter
    assert (policy.attempts, policy.within) == (None, None)
