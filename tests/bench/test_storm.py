"""The benchmark of the simulator works: every model is there, the JSON is JSON.

Nothing is said about the figures: a test must not depend on how busy the machine is.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODELS = ("Timeline", "Recovery", "Server model", "Contention", "Fluid model", "Targets")
FLOORS = {"bare numpy", "bare heap"}


def bench(command: list[str | Path]) -> str:
    """Run the benchmark as briefly as it can be run."""
    result = subprocess.run([*command, "--quick"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_there_is_a_table_for_every_model_and_a_small_run_judges_nothing() -> None:
    lines = bench([sys.executable, ROOT / "benchmarks" / "storm.py"]).splitlines()
    for model in MODELS:
        assert any(line.startswith(model) for line in lines), model
    promises = [line for line in lines if line.startswith(("Recovery: ", "Server model: "))]
    assert promises
    assert all(line.endswith("not measured") for line in promises)


@pytest.mark.slow
@pytest.mark.timeout(600)  # it sets up the environment for benchmarks, if there is none yet
def test_every_row_has_its_figures_as_json_too() -> None:
    printed = bench([ROOT / "dev", "bench", "storm", "--json"])
    found = json.loads(printed[printed.index("{") :])
    rows = [row for table in found["tables"] for row in table["rows"]]
    assert {row["name"] for row in rows} > FLOORS
    for row in rows:
        assert row["amount"] > 0, row
        assert row["seconds"] > 0, row
    assert found["python"]
    assert found["numpy"]
