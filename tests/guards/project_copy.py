"""A copy of the project to try an addition in, as a contributor would make it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.project_files import ROOT, project_files

COUNTED = ("src", "docs")
"""Folders whose changed files are counted."""
SECONDS = 280


class ProjectCopy:
    """The files of the project in a folder of their own, which is a git checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for path in project_files():
            target = root / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        make_checkout = ["git", "init", "--quiet", str(root)]
        subprocess.run(make_checkout, check=True)

    def write(self, path: str, text: str) -> None:
        """Create a file."""
        target = self.root / path
        assert not target.exists(), f"{path} exists already"
        target.write_text(text)

    def insert(self, path: str, before: str, text: str) -> None:
        """Insert a text into a file, before another one that is there once."""
        target = self.root / path
        whole = target.read_text()
        assert whole.count(before) == 1, f"{path} has {whole.count(before)} times {before!r}"
        target.write_text(whole.replace(before, text + before))

    def run(self, *arguments: str) -> str:
        """Run Python in the copy, with the sources of the copy, and return what it prints."""
        result = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root / "src")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert result.returncode == 0, result.stdout
        return result.stdout

    def check(self, *tests: str) -> None:
        """Run tests in the copy; fail if one of them fails."""
        self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)

    def changed(self) -> set[str]:
        """Return the files below the counted folders that are new or different."""
        return {
            str(path.relative_to(self.root))
            for folder in COUNTED
            for path in project_files(folder, root=self.root)
            if _is_different(path, ROOT / path.relative_to(self.root))
        }


def _is_different(path: Path, original: Path) -> bool:
    return not original.exists() or path.read_bytes() != original.read_bytes()
