"""Turn errors of SQLite into tarry's own errors."""

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
"""Errors that may be gone at the next try: the disk gets space, a volume is mounted again."""

BROKEN: dict[type[apsw.Error], str] = {
    apsw.NotADBError: "is not an SQLite database",
    apsw.CorruptError: "is damaged",
}
"""Errors that stay until a person acts."""

LOST: tuple[type[apsw.Error], ...] = (
    apsw.IOError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.PermissionsError,
    *BROKEN,
)
"""After these errors a connection may hold files that no longer exist, so it is reopened."""


UNFIT = (UnicodeError, OverflowError)
"""Errors for values that SQLite cannot store: a lone surrogate, an integer of 65 bits."""


def store_error(error: apsw.Error | UnicodeError | OverflowError, path: Path) -> StoreError:
    """Return the StoreError for an error of SQLite, with that error as its cause."""
    translated = (
        _translate(error, path) if isinstance(error, apsw.Error) else _cannot_be_stored(error)
    )
    translated.__cause__ = error
    return translated


def _cannot_be_stored(error: UnicodeError | OverflowError) -> StoreError:
    """Return the error for a value that SQLite cannot hold."""
    return StoreError(f"there is a value that cannot be stored: {error}")


def _translate(error: apsw.Error, path: Path) -> StoreError:
    """Return the error as one of the service, with words for people."""
    for kind, reason in PASSING.items():
        if isinstance(error, kind):
            return StoreUnavailable(f"{path}: {reason} ({error})")
    for kind, reason in BROKEN.items():
        if isinstance(error, kind):
            return StoreError(f"{path} {reason} ({error}): restore a backup, or name another file")
    return StoreError(f"{path}: {type(error).__name__}: {error}")
