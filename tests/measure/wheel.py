"""Build the wheel of a revision and say how large it is."""

import subprocess
import sys
import tempfile
import tomllib
from importlib.util import find_spec
from pathlib import Path


def wheel_size(root: Path) -> int | None:
    """Return the size of the wheel in bytes; None if it cannot be built here.

    It is built with the packages that are installed, so nothing is fetched.
    """
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    backend = settings.get("build-system", {}).get("build-backend", "setuptools")
    if not (find_spec("build") and find_spec(backend.partition(".")[0])):
        return None
    with tempfile.TemporaryDirectory(prefix="tarry-wheel-") as folder:
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder]
        run = subprocess.run([*build, str(root)], capture_output=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        return wheels[0].stat().st_size if run.returncode == 0 and wheels else None
