"""Histories of the simulation as judges of mutants.

Each is a test of its own, so the first one that breaks a promise ends a trial, and none is shrunk.
"""

import logging

import pytest

from tests.simulation.generate import Frame, generate
from tests.simulation.run import run

HISTORIES = 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_no_promise_is_broken(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    assert not run(generate(seed, Frame(store="memory"))).violations
