"""Many histories break no promise: the short form of ./dev simulate.

TARRY_TEST_SEED and TARRY_TEST_HISTORIES say which ones, and how many.
"""

import logging
import os
from collections.abc import Iterator

import pytest

from tests.simulation import report
from tests.simulation.generate import Frame, generate
from tests.simulation.run import Outcome, run
from tests.simulation.shrink import Shrinker

FIRST = int(os.environ.get("TARRY_TEST_SEED", "0"))
HISTORIES = int(os.environ.get("TARRY_TEST_HISTORIES", "400"))
PARTS = 8
ON_A_FILE = 10
"""One history in this many runs on SQLite."""


@pytest.fixture(autouse=True)
def no_log() -> Iterator[None]:
    """Silence the log messages about faults, which are expected."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("part", range(PARTS))
def test_no_promise_is_broken(part: int) -> None:
    for seed in range(FIRST + part, FIRST + HISTORIES, PARTS):
        store = "memory" if (seed + part) % ON_A_FILE else "sqlite"
        outcome = run(generate(seed, Frame(store=store)))
        assert not outcome.violations, explained(seed, outcome)


def explained(seed: int, outcome: Outcome) -> str:
    """Return a text about a failure, with the smallest history that is found in a moment."""
    rule = outcome.violations[0].rule
    shrinker = Shrinker(lambda history: rule in run(history).rules, runs=100)
    shrunk = shrinker.shrink(outcome.history)
    store = outcome.history.conditions.store
    return "\n".join(
        [
            f"./dev simulate --store {store} --seed {seed} --histories 1",
            *report.told_of(outcome),
            "a smaller one:",
            *report.told(shrunk),
        ]
    )
