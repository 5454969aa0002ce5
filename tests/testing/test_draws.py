from itertools import islice

import pytest

import tarry
from tarry.call.world import world
from tarry.testing import PushedClock, Script, scripted_draws, seeded_draws

FULL = tarry.Policy(backoff=tarry.Fixed(10), jitter=tarry.Full(), attempts=4)


def fails() -> None:
    raise OSError("no")


def test_draws_come_from_the_script(tarry_clock: PushedClock) -> None:
    with scripted_draws([0.5, 0.1, 0]) as script, pytest.raises(OSError, match="no"):
        FULL.call(fails, on=OSError)
    assert tarry_clock.slept == [5.0, 1.0], "a wait of nothing is not slept"
    assert script.left == ()


def test_what_nobody_drew_is_left() -> None:
    with scripted_draws([0.5, 0.1]) as script:
        assert world.draw() == 0.5
    assert script.left == (0.1,)


@pytest.mark.usefixtures("tarry_clock")
def test_a_script_that_runs_out_says_so() -> None:
    with (
        scripted_draws([0.5, 0.1]),
        pytest.raises(tarry.TarryError, match="script of draws has 2, and one more was wanted"),
    ):
        FULL.call(fails, on=OSError)


@pytest.mark.parametrize("wrong", [1, 1.0, -0.1, float("nan"), float("inf"), "0.5", None, True])
def test_a_draw_is_at_least_0_and_below_1(wrong: float) -> None:
    complaint = r"'draws\[1\]' is .*; it must be a number from 0 up to, but not including, 1"
    with pytest.raises(tarry.PolicyError, match=complaint):
        Script([0.5, wrong])


def test_a_script_is_checked_before_its_block_begins() -> None:
    with pytest.raises(tarry.PolicyError), scripted_draws([2]):
        pytest.fail("the block was entered")


def test_chance_is_put_back_whatever_happens() -> None:
    chance = world.draw
    with scripted_draws([0.1, 0.2]):
        with seeded_draws(7) as draw:
            assert world.draw == draw
        with pytest.raises(LookupError), seeded_draws(7):
            raise LookupError
        assert world.draw() == 0.1
    assert world.draw is chance


def test_a_seed_gives_the_waits_it_gives_everywhere(tarry_clock: PushedClock) -> None:
    policy = tarry.Policy()
    with seeded_draws(7), pytest.raises(OSError, match="no"):
        policy.call(fails, on=OSError)
    assert tarry_clock.slept == list(islice(policy.waits(seed=7), 4))


def test_a_breaker_that_opens_draws_too(tarry_clock: PushedClock) -> None:
    breaker = tarry.Breaker(open_for=100, jitter=0.5)
    with scripted_draws([0.5]):
        breaker.trip()
    assert breaker.retry_at == 75.0
    assert tarry_clock.now == 0.0
