"""The benchmark of first attempts works, at a real server: each message is tried.

Nothing is said about the figures: a test must not depend on how busy the machine is.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "chance.py"


@pytest.mark.slow
def test_each_message_of_a_small_round_is_tried() -> None:
    command = [sys.executable, str(SCRIPT), "--rounds", "1", "--messages", "40", "--fail", "30"]
    result = subprocess.run(
        [*command, "--busy", "0", "--json"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    (round_,) = json.loads(result.stdout)["rounds"]
    assert (round_["messages"], round_["untried"], round_["stalled"]) == (40, 0, 0)
