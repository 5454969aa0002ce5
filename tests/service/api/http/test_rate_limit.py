from tarry.service.api.http.rate_limit import RateLimit
from tarry.testing.clock import PushedClock


def test_a_key_may_make_so_many_requests_a_second_and_comes_back_later() -> None:
    clock = PushedClock()
    limit = RateLimit(2.0, clock=lambda: clock.now)
    assert [limit.take("a") for _ in range(3)] == [0, 0, 1]
    assert limit.take("b") == 0, "each key has its own"
    clock.push(0.5)
    assert [limit.take("a") for _ in range(2)] == [0, 1]


def test_less_than_one_a_second_waits_longer() -> None:
    clock = PushedClock()
    limit = RateLimit(0.1, clock=lambda: clock.now)
    assert [limit.take("a"), limit.take("a")] == [0, 10]
    clock.push(10)
    assert limit.take("a") == 0


def test_without_a_limit_nobody_waits() -> None:
    assert not any(RateLimit(None).take("a") for _ in range(1000))


def test_it_does_not_remember_without_end() -> None:
    limit = RateLimit(1.0, clock=lambda: 0.0)
    for number in range(10_001):
        limit.take(str(number))
    assert limit.take("0") == 0, "forgotten, to its advantage"
