import pytest

from tarry.core.backoff import Exponential, Fixed
from tarry.core.jitter import Equal
from tarry.sim.estimate import Estimate
from tarry.sim.recommend.advice import sentences, verdict
from tarry.sim.recommend.candidates import Candidate
from tarry.sim.recommend.limits import limited
from tarry.sim.recommend.miniature import Size
from tarry.sim.recommend.recommendation import Point, Prediction, Recommendation
from tarry.sim.recommend.wish import Wish

WISH = Wish(clients=10_000, capacity=200, outage=600, latency=120)
RISING = Candidate("equal 1..92.5 s", Exponential(base=1, cap=92.5), Equal())
FLAT = Candidate("equal flat 92.5 s", Fixed(92.5), Equal())
LANE = Prediction(Estimate(55.4, 55.0, 56.0, 5), 58.0, 1.1, 294)


def told(
    wish: Wish = WISH,
    *,
    candidate: Candidate = RISING,
    slowest: float | None = 108.0,
    lane: Prediction | None = LANE,
    front: tuple[Point, ...] = (),
) -> Recommendation:
    """Make up a recommendation."""
    return Recommendation(
        wish=wish,
        seed=1,
        candidate=candidate,
        policy=limited(candidate.policy, outage=wish.outage, recovery=100),
        predicted=Prediction(Estimate(92.7, 91.0, 94.4, 20), slowest, 0.9, 147_839),
        coordinated=lane,
        front=front,
        size=Size(),
        complete=True,
    )


def test_a_wish_that_comes_true_is_said_with_its_slowest_run() -> None:
    assert verdict(told()) == (
        "Feasible: everybody is served within 108 s in each of 20 runs; 2 min are allowed."
    )


def test_below_the_drain_limit_nothing_helps_but_capacity() -> None:
    said = verdict(told(WISH.replace(latency=40)))
    assert said.startswith("Infeasible: no policy can. 10,000 clients at 200 a second take 50 s")
    assert "above 250 a second" in said


def test_what_clients_alone_cannot_do_a_lane_may() -> None:
    said = verdict(told(WISH.replace(latency=75)))
    assert said.startswith("Infeasible for clients that retry for themselves: ")
    assert "1.33 drain limits" in said
    assert "takes up to 108 s, more than 75 s" in said
    assert "(a paced lane) does it in 58 s." in said
    assert "to about 288 a second, or allow 110 s." in said


@pytest.mark.parametrize(
    ("lane", "said"),
    [
        (LANE._replace(slowest=80.0), "(a paced lane) needs 80 s: not in time either."),
        (LANE._replace(slowest=None), "(a paced lane) does not recover either."),
        (None, "(a paced lane) may do better."),
    ],
)
def test_it_is_said_what_a_lane_would_do(lane: Prediction | None, said: str) -> None:
    assert said in verdict(told(WISH.replace(latency=75), lane=lane))
    assert said in verdict(told(WISH.replace(latency=75), slowest=None, lane=lane))


def test_what_never_recovers_is_infeasible() -> None:
    assert "no policy that was tried recovers in every run" in verdict(told(slowest=None))


def test_the_load_is_explained() -> None:
    first, second, third, *_ = sentences(told())
    assert first == "The drain limit is 50 s: 10,000 clients at 200 a second."
    assert second == (
        "Each waits 69.4 s on average, so all together they offer 144 attempts a second in a long "
        "outage, 72 % of the capacity."
    )
    assert third.startswith("The longest wait is 1.85 x the drain limit.")


def test_what_would_not_bear_a_longer_outage_is_warned_of() -> None:
    warning = "Careful: in an outage much longer than this one, that is more than it bears."
    storm = Candidate("equal flat 60 s", Fixed(60), Equal())
    assert warning in sentences(told(candidate=storm))
    assert warning not in sentences(told(WISH.replace(endpoint="shed"), candidate=storm))
    assert warning not in sentences(told())


def test_few_clients_need_no_thought() -> None:
    said = sentences(told(WISH.replace(clients=150)))
    assert said[0].startswith("All 150 clients fit into one second of the capacity")
    assert not any("x the drain limit" in one for one in said)


def test_a_flat_policy_says_its_price() -> None:
    price = "The price: a lone failure waits as long."
    assert not any(price in one for one in sentences(told()))
    (said,) = [sentence for sentence in sentences(told(candidate=FLAT)) if price in sentence]
    assert ": here a backoff" in said
    short = told(WISH.replace(outage=20), candidate=FLAT)
    assert any(": after so short an outage a backoff" in one for one in sentences(short))


def test_quicker_ones_that_were_passed_over_are_explained() -> None:
    explained = "Those above that are quicker were slower there, or offer too much if it lasts."
    quick = Point("quick", FLAT.policy, 80.0, 0.9, 5.0)
    assert explained in sentences(told(front=(quick,)))
    assert explained not in sentences(told(front=(quick._replace(recovery=92.0),)))
    assert explained not in sentences(told(front=(quick._replace(policy=None),)))


def test_the_limits_the_lane_and_the_budget_come_last() -> None:
    limits, lane, budget = sentences(told())[-3:]
    assert limits.endswith(
        "and within = 1400 outlast an outage 2 times as long and the recovery after it."
    )
    assert lane.startswith("Coordinated: one dispatcher that sends them all (a paced lane) is done")
    assert "55.4 s with 294 attempts in the outage" in lane
    assert "Quota(capacity=2000, cost=10)" in budget


@pytest.mark.parametrize("lane", [None, LANE._replace(recovery=Estimate(None, None, None, 5, 1))])
def test_a_lane_nobody_knows_is_left_out(lane: Prediction | None) -> None:
    assert not any(sentence.startswith("Coordinated") for sentence in sentences(told(lane=lane)))


def test_a_small_service_gets_a_small_budget() -> None:
    assert "Quota(capacity=200, cost=10)" in sentences(told(WISH.replace(capacity=5)))[-1]
