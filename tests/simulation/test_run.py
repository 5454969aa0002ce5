"""Histories run from start to end: they repeat exactly, and a calm one breaks no rule."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.endpoints import Behaviour
from tests.simulation.generate import generate
from tests.simulation.log import Answered, EndpointChanged, Lost
from tests.simulation.run import run
from tests.simulation.steps import (
    AddApplication,
    AddEndpoint,
    AnyStep,
    Behave,
    Conditions,
    Delete,
    Failover,
    History,
    Kill,
    Move,
    Send,
    Stand,
    StartWorker,
)

ROOT = Path(__file__).parents[2]
DIGESTS = """
import logging
from tests.simulation.generate import generate
from tests.simulation.run import run
logging.disable(logging.CRITICAL)
print([run(generate(seed)).digest for seed in range(40, 52)])
"""

CALM = History(
    Conditions(seed=1, length=20),
    (
        AddApplication(at=0, application=0),
        AddEndpoint(at=0.5, application=0, endpoint=0, origin=0),
        AddEndpoint(at=0.5, application=0, endpoint=1, origin=1, fifo=True),
        Send(at=1.5, application=0, message=0, count=10, apart=0.1),
        Send(at=5, application=0, message=10, count=3, deliver_in=4.0),
    ),
)


def test_a_calm_history_breaks_no_rule() -> None:
    assert run(CALM).violations == []


@pytest.mark.parametrize(
    "trouble",
    [
        Behave(at=1.6, endpoint=0, behaviour=Behaviour(failing=1.0, status=None)),
        Behave(at=1.6, endpoint=1, behaviour=Behaviour(hangs=True)),
        Stand(at=2, endpoint=0, standing="paused"),
        Move(at=2, endpoint=1, origin=3),
        Kill(at=2, worker=0),
    ],
)
def test_a_little_trouble_breaks_no_rule(
    trouble: Behave | Stand | Move | Kill,
) -> None:
    steps = (*CALM.steps, trouble, StartWorker(at=3))
    assert run(History(CALM.conditions, steps)).violations == []


def test_an_endpoint_whose_deletion_a_failover_lost_goes_on() -> None:
    lost = (Delete(at=8, endpoint=0), Failover(at=8.5, lost=1.0))
    send_later = Send(at=30, application=0, message=20, count=2)
    outcome = run(History(Conditions(seed=1, length=40), (*CALM.steps, *lost, send_later)))
    changes = [entry for entry in outcome.log if isinstance(entry, EndpointChanged)]
    assert [change.endpoint.standing for change in changes[2:]] == ["deleted", "enabled"]
    assert outcome.violations == []


def test_a_second_failover_brings_back_nothing_that_the_first_one_lost() -> None:
    late = AddEndpoint(at=8.2, application=0, endpoint=2, origin=0)
    failovers = (Failover(at=9, lost=1.0), Failover(at=9.5, lost=1.0))
    outcome = run(History(Conditions(seed=1, length=20), (*CALM.steps, late, *failovers)))
    assert [entry.since for entry in outcome.log if isinstance(entry, Lost)] == [8.0]
    assert outcome.violations == []


def test_an_endpoint_that_hangs_does_not_hold_up_others_of_a_host_that_is_back() -> None:
    refuses = Behaviour(failing=1.0, status=None)
    steps: list[AnyStep] = [
        *(AddApplication(at=0, application=number) for number in range(3)),
        *(AddEndpoint(at=0.5, application=n % 3, endpoint=n, origin=0) for n in range(6)),
        Behave(at=1, origin=0, behaviour=refuses),
        *(Send(at=1.5, application=n, message=30 * n, count=30, apart=0.02) for n in range(3)),
        Behave(at=15, endpoint=0, behaviour=Behaviour(hangs=True)),
        Behave(at=15, origin=0, behaviour=Behaviour(latency=0.02)),
    ]
    outcome = run(History(Conditions(seed=1, length=30), tuple(steps)))
    assert outcome.violations == []
    taken = [entry for entry in outcome.log if isinstance(entry, Answered) and entry.is_taken]
    assert sum(entry.at < 25 for entry in taken) == 5 * 30


@pytest.mark.parametrize("seed", range(20, 32))
def test_a_seed_gives_the_same_history_twice(seed: int) -> None:
    assert run(generate(seed)).digest == run(generate(seed)).digest


def test_histories_of_different_seeds_differ() -> None:
    assert len({run(generate(seed)).digest for seed in range(5)}) == 5


def test_a_history_does_not_depend_on_how_this_process_hashes_text() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(outputs) == 1
