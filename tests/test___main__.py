import subprocess
import sys
from importlib.metadata import version


def test_python_runs_the_package_as_a_module() -> None:
    command = [sys.executable, "-m", "tarry", "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == f"tarry {version('tarry')}\n"
