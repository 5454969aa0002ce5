"""Every example runs as it stands."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project_files import project_files

EXAMPLES = [path for path in project_files("examples") if path.suffix == ".py"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_runs_without_complaint(example: Path, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, example],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
