"""New SQLite files for tests, with tarry's schema in them.

They are copies of one that is made once in a process: its migrations take longer than most tests.
"""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tarry.service.store.sqlite.migrate.schema import bring_up, on_file


def make_migrated_file(path: Path) -> Path:
    """Create a file that only its owner can read, as tarry does; return its path."""
    path.touch(mode=0o600)
    path.write_bytes(_migrated())
    return path


@cache
def _migrated() -> bytes:
    """Return the content of an SQLite file on which all migrations have run, and nothing else."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "hooks.db")
        on_file(path, bring_up, create=True)
        return path.read_bytes()
