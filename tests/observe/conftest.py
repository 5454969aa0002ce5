"""A story with everything in it, for the listeners to tell."""

from collections.abc import Callable

import pytest

import tarry
from tarry.testing import PushedClock

Story = Callable[..., None]


@pytest.fixture
def story(tarry_clock: PushedClock) -> Story:
    """A call that succeeds at its third attempt, one that gives up, and a breaker that opens.

    Attempts take half a second, waits two; the arguments of the calls are secret.
    """
    policy = tarry.Policy(backoff=tarry.Fixed(2), jitter=tarry.NoJitter(), attempts=3)

    def tell() -> None:
        left = iter([ConnectionError("reset"), TimeoutError("slow"), None])

        @tarry.retry(policy, on=OSError, name="fetch")
        def fetch(password: str) -> str:
            tarry_clock.push(0.5)
            if error := next(left):
                raise error
            return password

        breaker = tarry.Breaker(failures=2, open_for=30, jitter=0, name="bank")

        @tarry.retry(policy.replace(attempts=2), on=OSError, name="charge", breaker=breaker)
        def charge(password: str) -> None:
            tarry_clock.push(0.5)
            raise ConnectionError(f"refused {len(password)}")

        fetch("hunter2")
        with pytest.raises(ConnectionError):
            charge("hunter2")

    return tell
