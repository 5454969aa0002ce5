import subprocess
import sys
from importlib.metadata import version


def test_python_runs_it_as_a_module() -> None:
    command = [sys.executable, "-m", "tarry.cli", "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == f"tarry {version('tarry')}\n"
