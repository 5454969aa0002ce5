"""Say what went wrong with a database file, in tarry's own errors."""

from pathlib import Path

import apsw

from tarry.errors import StoreError, StoreUnavailable

PASSING: dict[type[apsw.Error], str] = {
    apsw.FullError: "the disk is full",
    apsw.IOError: "it cannot be read or written",
    apsw.ReadOnlyError: "it is read-only",
    apsw.CantOpenError: "it cannot be opened",
    apsw.PermissionsError: "access to it is refused",
    apsw.BusyError: "another process keeps it locked",
    apsw.LockedError: "another process keeps it locked",
    apsw.ProtocolError: "another process keeps it locked",
    apsw.NoMemError: "there is no memory left",
    apsw.InterruptError: "it was interrupted",
}
"""What may be over the next time: the disk gets space, a volume is mounted again."""

BROKEN: dict[type[apsw.Error], str] = {
    apsw.NotADBError: "is not an SQLite database",
    apsw.CorruptError: "is damaged",
}
"""What stays until a person does something."""

LOST: tuple[type[apsw.Error], ...] = (
    apsw.IOError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.PermissionsError,
    *BROKEN,
)
"""After these a connection may hold on to files that are no more: it is made anew."""


UNFIT = (UnicodeError, OverflowError)
"""What is raised for values that SQLite cannot keep: half a character, a number of 65 bits."""


def store_error(error: apsw.Error | UnicodeError | OverflowError, path: Path) -> StoreError:
    """What a caller is told of an error of SQLite, which becomes its cause."""
    told = _told(error, path) if isinstance(error, apsw.Error) else _unfit(error)
    told.__cause__ = error
    return told


def _unfit(error: UnicodeError | OverflowError) -> StoreError:
    return StoreError(f"there is a value that cannot be stored: {error}")


def _told(error: apsw.Error, path: Path) -> StoreError:
    for kind, reason in PASSING.items():
        if isinstance(error, kind):
            return StoreUnavailable(f"{path}: {reason} ({error})")
    for kind, reason in BROKEN.items():
        if isinstance(error, kind):
            return StoreError(f"{path} {reason} ({error}): restore a backup, or name another file")
    return StoreError(f"{path}: {type(error).__name__}: {error}")
