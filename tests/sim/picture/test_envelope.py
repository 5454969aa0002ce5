import xml.etree.ElementTree as ET

import pytest

from tarry.core.backoff import Exponential, Fixed, Schedule
from tarry.core.explain import schedule
from tarry.core.jitter import Full, NoJitter, Percent
from tarry.core.policy import Policy
from tarry.sim.picture.canvas import rendered
from tarry.sim.picture.envelope import BARS, HEIGHT, envelope

TEXT = "{http://www.w3.org/2000/svg}text"
GROWING = Policy(backoff=Exponential(base=1, cap=60), jitter=Full(), attempts=9, name="orders")


def words(policy: Policy, attempts: int | None = None) -> list[str]:
    svg = rendered([envelope(policy, policy.name or "policy", attempts)], "svg")
    return [element.text or "" for element in ET.fromstring(svg).iter(TEXT)]  # noqa: S314  ours


def test_it_shows_every_attempt_after_the_first_with_units() -> None:
    told = words(GROWING)
    assert told[: len(schedule(GROWING))] == [str(attempt) for attempt in range(2, 10)]
    assert {"Wait before each attempt: orders", "Wait (seconds)", "least to most", "typical"} < set(
        told
    )


def test_fewer_attempts_can_be_asked_for() -> None:
    told = words(GROWING, 3)
    assert "3" in told
    assert "4" not in told


def test_waits_from_seconds_to_a_day_are_on_a_log_scale_and_say_so() -> None:
    webhooks = Policy(backoff=Schedule([10, 30, 120, 600, 86_400]), jitter=Percent(0.2), attempts=6)
    assert "Wait (seconds, log scale)" in words(webhooks)


def test_a_bar_from_nothing_on_a_log_scale_says_where_it_begins() -> None:
    told = words(Policy(backoff=Exponential(base=0.1, cap=3600), jitter=Full(), attempts=20))
    assert "Wait (seconds, log scale)" in told
    assert "(0 is the bottom)" in told
    assert "(0 is the bottom)" not in words(GROWING)


@pytest.mark.parametrize("attempts", [BARS + 1, BARS + 2, 10_000])
def test_many_attempts_become_a_band(attempts: int) -> None:
    policy = Policy(backoff=Fixed(1), jitter=Full(), attempts=attempts)
    svg = rendered([envelope(policy, "many", attempts)], "svg").decode()
    assert ("FillBetweenPolyCollection_1" in svg) == (attempts > BARS + 1)
    assert len(svg) < 2_000_000


def test_a_policy_that_never_waits_can_be_drawn() -> None:
    assert "one attempt, no wait" in words(Policy(attempts=1))
    assert "Wait (seconds)" in words(Policy(backoff=Fixed(0), jitter=NoJitter(), attempts=4))


def test_the_caption_says_how_to_read_it() -> None:
    picture = envelope(GROWING, "orders")
    assert "typical" in picture.caption
    assert picture.height == HEIGHT
