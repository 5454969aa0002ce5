"""Keep a database's files from other users of the machine."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

OWNER_ONLY = stat.S_IRUSR | stat.S_IWUSR
COMPANIONS = ("", "-wal", "-shm", "-journal", "-dispatcher", ".keys")
"""The suffixes of a database's own files."""


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read and write, unless the file exists.

    SQLite gives the log and the shared memory the mode of the database file, so a database that
    starts as this file stays private as a whole, whatever the umask is.
    """
    with suppress(FileExistsError):
        # Not `open`: closing the file again would drop the locks that another thread of this
        # process may have taken on it in between (POSIX locks belong to the process).
        os.mknod(path.resolve(), stat.S_IFREG | OWNER_ONLY)


def exposed(path: Path) -> Iterator[Path]:
    """Yield the existing files of a database that other users of the machine may open."""
    for companion in COMPANIONS:
        file = path.with_name(path.name + companion)
        with suppress(FileNotFoundError):
            if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                yield file
