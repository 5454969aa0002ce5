"""The files of the project, as git lists them: nothing that a tool has left in the checkout."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def project_files(folder: str = ".", *, root: Path = ROOT) -> Sequence[Path]:
    """Return the files below `folder`: those that git tracks, and new ones that it does not ignore.

    New files count so that a developer learns about them before the commit. Without git or a
    checkout there is no such list. Then a test fails here instead of passing on an empty list.
    """
    if not (root / ".git").exists():
        raise RuntimeError(f"{root} is not a git checkout: run the tests in a clone")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder]
    try:
        result = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RuntimeError("git is missing: install it to run the tests") from None
    if result.returncode:
        raise RuntimeError(f"git cannot list the files of {root}: {result.stderr.strip()}")
    paths = {root / name for name in result.stdout.split("\0") if name}
    return sorted(path for path in paths if path.is_file())
