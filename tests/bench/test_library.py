"""The benchmark works: every row is there, a missing rival is named, the JSON is JSON.

Nothing is said about the figures: a test must not depend on how busy the machine is.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = (
    *("tarry", "tenacity", "backoff", "stamina", "redress", "pyresilience", "hyx"),
    *("pybreaker", "circuitbreaker", "aiobreaker"),
)
QUESTIONS = (
    *("Succeeding call", "Failing attempt", "Everything on", "Breaker alone"),
    *("Import", "Memory", "Targets"),
)
NO_FIGURE = {"async only", "no asyncio", "sleeps"}


def bench(command: list[str | Path]) -> str:
    """Run the benchmark as briefly as it can be run."""
    command = [*command, "--quick", "--rounds", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_the_tables_name_every_library_also_those_that_are_not_installed() -> None:
    printed = bench([sys.executable, ROOT / "benchmarks" / "library.py"])
    lines = printed.splitlines()
    for question in QUESTIONS:
        assert any(line.startswith(question) for line in lines), question
    for library in LIBRARIES:
        rows = [line for line in lines if line.startswith(library)]
        assert rows, library
        assert library == "tarry" or any("not installed" in row for row in rows), library


@pytest.mark.slow
@pytest.mark.timeout(600)  # it sets up an environment for the rivals, if there is none yet
def test_every_row_has_its_figures_where_the_rivals_are_installed() -> None:
    printed = bench([ROOT / "dev", "bench", "library", "--json"])
    found = json.loads(printed[printed.index("{") :])
    rows = [row for table in found["tables"] for row in table["rows"]]
    texts = {cell for row in rows for key, cell in row.items() if isinstance(cell, str)}
    names = {row["name"] for row in rows}
    assert texts - names <= NO_FIGURE | {"", "asyncio, ssl, socket"}
    assert all(any(name.startswith(library) for name in names) for library in LIBRARIES)
    assert {target["verdict"] for target in found["targets"]} <= {"pass", "MISS"}
