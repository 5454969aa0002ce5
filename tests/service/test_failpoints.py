"""A process dies where it is told to, and nowhere else."""

import os
import re
import signal
import subprocess
import sys
import timeit
from pathlib import Path

import pytest

from tarry.errors import SettingsError
from tarry.service import failpoints
from tarry.service.failpoints import NAMES, VARIABLE

SERVICE = Path(failpoints.__file__).parent
PASSES = """
from tarry.service.failpoints import hit
for _ in range(3):
    hit("send.before")
    print("passed", flush=True)
"""


def run(armed: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, VARIABLE: armed}
    command = [sys.executable, "-c", PASSES]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(("armed", "passed"), [("send.before", 0), ("send.before:3", 2)])
def test_the_process_is_killed_at_the_point_and_the_time_that_are_named(
    armed: str, passed: int
) -> None:
    ran = run(armed)
    assert ran.returncode == -signal.SIGKILL
    assert ran.stdout == "passed\n" * passed


@pytest.mark.parametrize("armed", ["send.begun", "send.before:4"])
def test_it_passes_points_that_are_not_armed(armed: str) -> None:
    assert run(armed).stdout == "passed\n" * 3


@pytest.mark.parametrize("wrong", ["", "send", "send.before:", "send.before:0", "send.before:x"])
def test_a_point_that_is_not_there_is_refused_by_name(wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"settle\.before"):
        failpoints.arm(wrong)


def test_arming_can_be_taken_back() -> None:
    assert not failpoints.armed()
    failpoints.arm("send.before:1000000000")
    try:
        assert failpoints.armed()
        failpoints.hit("send.before")
    finally:
        failpoints.arm(None)
    assert not failpoints.armed()


def test_passing_a_point_costs_next_to_nothing() -> None:
    def nothing(_: str) -> None:
        pass

    passing = timeit.repeat(lambda: failpoints.hit("send.before"), number=1000, repeat=100)
    calling = timeit.repeat(lambda: nothing("send.before"), number=1000, repeat=100)
    assert min(passing) < 5 * min(calling)  # whatever else the machine has to do


@pytest.mark.parametrize("name", NAMES)
def test_every_point_is_somewhere_in_the_service(name: str) -> None:
    sources = [path for path in SERVICE.rglob("*.py") if path.name != "failpoints.py"]
    assert any(re.search(rf'hit(?:\(|, )"{name}"', path.read_text()) for path in sources)
