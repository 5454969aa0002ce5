import pytest

from tarry.core.backoff import Exponential, Fixed
from tarry.core.jitter import Equal, Full
from tarry.sim.backlog.model import Backlog
from tarry.sim.chance import Chance
from tarry.sim.recommend.candidates import Candidate
from tarry.sim.recommend.miniature import Floor, Size, cost, fitting, play
from tarry.sim.recommend.wish import Wish
from tarry.sim.run import Contestant

PLAIN = Wish(clients=4_000, capacity=200, outage=120, latency=120)
EQUAL = Candidate("equal", Exponential(base=1, cap=40), Equal())
FLOOR = Floor(capacity=100, drain=40)


def test_what_fits_is_played_at_full_size() -> None:
    assert fitting(PLAIN, 10, FLOOR) == Size()
    assert Size().full


def test_a_long_outage_is_cut_before_anything_else() -> None:
    size = fitting(PLAIN.replace(outage=1e6), 1, FLOOR)
    assert size == Size(cut=True)
    assert not size.full


def test_many_clients_are_thinned_and_long_drains_made_faster() -> None:
    assert fitting(PLAIN.replace(clients=400_000, capacity=20_000), 0.1, FLOOR).thinned > 1
    assert fitting(PLAIN.replace(clients=400_000, capacity=150), 0.1, FLOOR).faster > 1


@pytest.mark.parametrize(("clients", "capacity"), [(10_000_000, 100_000), (1_000_000, 1)])
def test_no_world_is_smaller_than_its_floor(clients: int, capacity: float) -> None:
    wish = PLAIN.replace(clients=clients, capacity=capacity, outage=3600)
    size = fitting(wish, 0, FLOOR)
    assert wish.capacity / size.thinned >= min(FLOOR.capacity, wish.capacity)
    assert wish.drain / size.faster >= FLOOR.drain


def test_smaller_is_cheaper() -> None:
    big = PLAIN.replace(clients=400_000, outage=1e6)
    sizes = [Size(), Size(cut=True), Size(cut=True, thinned=2), Size(cut=True, thinned=2, faster=2)]
    prices = [cost(big, size) for size in sizes]
    assert prices == sorted(prices, reverse=True)


def test_full_size_is_the_backlog_itself() -> None:
    trial = play(PLAIN, Size(), EQUAL, Chance(1))
    backlog = Backlog(waiting=4_000, capacity=200, outage=120, endpoint="brittle")
    found = backlog.simulate(Contestant("equal", EQUAL.policy), Chance(1)).metrics
    assert trial == (
        found["recovery"],
        found["peak_ratio"],
        found["attempts_during_outage"],
    )


@pytest.mark.parametrize("size", [Size(thinned=2), Size(faster=2), Size(thinned=2, faster=2)])
@pytest.mark.parametrize(
    "candidate",
    [EQUAL, Candidate("flat", Fixed(60), Full())],
    ids=lambda candidate: candidate.name,
)
def test_a_smaller_world_tells_about_the_same(size: Size, candidate: Candidate) -> None:
    wish = PLAIN.replace(clients=16_000, capacity=800)
    full, small = (play(wish, one, candidate, Chance(1)) for one in (Size(), size))
    assert small.recovery == pytest.approx(full.recovery, rel=0.1)
    assert small.attempts == pytest.approx(full.attempts, rel=0.1)
    assert small.peak_ratio == pytest.approx(full.peak_ratio, rel=0.2)


def test_an_outage_that_is_cut_tells_about_the_same() -> None:
    wish = PLAIN.replace(outage=6_000)
    full, cut = (play(wish, one, EQUAL, Chance(1)) for one in (Size(), Size(cut=True)))
    assert cut.recovery == pytest.approx(full.recovery, rel=0.05)
    assert cut.attempts == pytest.approx(full.attempts, rel=0.02)
    assert cut != full


def test_who_takes_too_long_has_no_recovery() -> None:
    assert play(PLAIN, Size(), EQUAL, Chance(1), watch=10).recovery is None
