"""How hard the tests look: Hypothesis' profiles, and coverage's leave from the slow ones.

`./dev test` uses the profile `ci`; `./dev test --hypothesis-profile=deep` digs for long.
"""

import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=False, print_blob=True)
settings.register_profile("deep", settings.get_profile("ci"), max_examples=5_000)
settings.load_profile("ci")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Let coverage look away from a slow test: tracing makes it several times slower still."""
    tracer = sys.gettrace()
    if item.get_closest_marker("slow"):
        sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)
