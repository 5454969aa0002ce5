"""How hard the tests look: Hypothesis' profiles, and coverage's leave from the slow ones.

`./dev test` uses the profile `ci`; `./dev test --hypothesis-profile=deep` digs for long.
"""

from collections.abc import Generator

import pytest
from coverage import Coverage
from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=False, print_blob=True)
settings.register_profile("deep", settings.get_profile("ci"), max_examples=5_000)
settings.load_profile("ci")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Let coverage look away from a slow test: tracing makes it several times slower still."""
    coverage = Coverage.current() if item.get_closest_marker("slow") else None
    if coverage:
        coverage.stop()
    try:
        return (yield)
    finally:
        if coverage:
            coverage.start()
