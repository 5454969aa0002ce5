"""Are files open to more than they should be?

Of the project: only scripts are executable, nobody else may write to a file, and links stay inside.
Of the service: what it creates is open to its owner only, whatever the umask says.
"""

import stat
from collections.abc import Iterable
from pathlib import Path

from tests.audit.check import Result, result

EXECUTABLE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


def check_project(files: Iterable[Path], root: Path) -> Result:
    """Check the files of a checkout."""
    problems, count = [], 0
    for path in files:
        count += 1
        name = path.relative_to(root)
        if path.is_symlink():
            if not path.resolve().is_relative_to(root.resolve()):
                problems.append(f"{name} is a link to a place outside of the project")
            continue
        mode = path.stat().st_mode
        if mode & stat.S_IWOTH:
            problems.append(f"{name} can be written by everybody: chmod o-w {name}")
        if mode & (stat.S_ISUID | stat.S_ISGID):
            problems.append(f"{name} runs as its owner or group: chmod ug-s {name}")
        if mode & EXECUTABLE and path.read_bytes()[:2] != b"#!":
            problems.append(f"{name} is executable and no script: chmod -x {name}")
    if not count:
        problems.append("no file was looked at")
    return result(f"{count} files of the project", problems)


def open_to_others(folder: Path) -> list[str]:
    """Return a line for each file below a folder that others may read, write or run."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if not files:
        return [f"{folder.name} has no files"]
    return [
        f"{path.relative_to(folder)} has the mode {stat.S_IMODE(path.stat().st_mode):04o}"
        for path in files
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
