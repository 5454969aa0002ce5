"""Turn errors of PostgreSQL, the driver and the network into tarry's own errors.

An error that may pass by itself is StoreUnavailable: the connection was lost, or the server is
down, starting, full, a standby, or too slow. All others are StoreError. Neither shows passwords.
"""

import asyncpg  # type: ignore[import-untyped]  # it ships no types

from tarry.errors import StoreError, StoreUnavailable

OLDEST = 13
"""The oldest supported version of PostgreSQL."""

ENCODINGS = frozenset({"UTF8", "SQL_ASCII"})
"""Encodings that can store any text; the second one stores any bytes."""

PASSING = {
    "25006": "it is a standby, or read-only",
    "25P03": "the transaction was left alone for too long",
    "25P04": "the transaction took too long",
    "53100": "its disk is full",
    "53200": "it is out of memory",
    "53300": "it has no connection to spare",
    "55P03": "a lock was not free in time",
    "57014": "the statement took too long or was cancelled",
    "57P01": "it is shutting down",
    "57P02": "it crashed",
    "57P03": "it is starting up or shutting down",
    "57P05": "the connection was idle for too long",
    "58030": "its disk has failed",
}
"""Errors that may pass, by SQLSTATE. Connection failures (class 08) may pass too."""

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)
"""The errors of the driver; it raises the third if a connection is lost at an odd moment."""

CONTENDED = frozenset({"40001", "40P01"})
"""Serialization failure and deadlock: the transaction is retried at once."""

NOT_OURS = {"25006"} | {code for code in PASSING if code.startswith("57P")}
"""After these errors a connection is useless, but a new one may reach a suitable server."""


class Unsure(Exception):  # noqa: N818  not an error yet: it becomes StoreUnavailable
    """A commit was made on this server, but perhaps not on its synchronous standby."""


class Stale(Exception):  # noqa: N818  a signal to start again, not an error
    """The data has changed since it was read. The transaction is retried, as after a conflict."""

    sqlstate = "40001"


def contended(error: BaseException) -> bool:
    """Return whether a transaction lost against another one, so that a retry can succeed.

    That includes a prepared statement from before a schema change, which is dropped by then.
    """
    if isinstance(error, asyncpg.InvalidCachedStatementError):
        return True
    return getattr(error, "sqlstate", None) in CONTENDED


def translate(error: BaseException) -> StoreError:
    """Return tarry's error for an error of the driver or the system, or for a timeout."""
    if isinstance(error, StoreError):
        return error
    passing = _passing_trouble(error)
    if passing:
        return StoreUnavailable(passing)
    if isinstance(error, asyncpg.PostgresError):
        return StoreError(f"PostgreSQL refused: {_line(error)}")
    return StoreError(f"PostgreSQL was not asked: {_line(error)}")


def translate_connecting(error: BaseException, shown_url: str, database: str) -> StoreError:
    """Return tarry's error for a failed connect; `shown_url` is the URL without its password."""
    if isinstance(error, StoreError):
        return error
    state = getattr(error, "sqlstate", None) or ""
    passing = _passing_connecting(error, state)
    if passing:
        return StoreUnavailable(f"{shown_url}: {passing}")
    refusal = {
        "28000": "PostgreSQL refuses the user, or a connection without encryption",
        "28P01": "PostgreSQL refuses the user or the password",
        "3D000": f"there is no database {database!r}: create it, or name another",
        "42501": f"the user may not do that ({_line(error)})",
    }.get(state, f"the database cannot be used ({_line(error)})")
    return StoreError(f"{shown_url}: {refusal}")


def _passing_trouble(error: BaseException) -> str:
    """Return a description of an error that may pass by itself, else an empty string."""
    state = getattr(error, "sqlstate", None) or ""
    if isinstance(error, Unsure):
        return f"it is not sure that its standby has what was written ({error})"
    if state in PASSING:
        return f"PostgreSQL says that {PASSING[state]} ({_line(error)})"
    if state in CONTENDED:
        return f"it lost against others again and again ({_line(error)})"
    if isinstance(error, TimeoutError):
        return "PostgreSQL did not answer in time"
    if state.startswith("08") or _is_cut(error):
        return f"the connection to PostgreSQL was lost ({_line(error)})"
    return ""


def _passing_connecting(error: BaseException, state: str) -> str:
    """Return why connecting failed if a retry may help, else an empty text."""
    if state in PASSING:
        return f"PostgreSQL says that {PASSING[state]}"
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "no server is of the kind that the URL asks for"
    if isinstance(error, TimeoutError):
        return "nothing answered in time"
    if isinstance(error, asyncpg.PostgresConnectionError) or _is_cut(error):
        return f"no PostgreSQL answers ({_line(error)})"
    return ""


def _is_cut(error: BaseException) -> bool:
    """Return whether the driver or the system reports that the connection is gone."""
    if isinstance(error, asyncpg.InterfaceError):  # also raised for wrong use
        return "clos" in str(error)
    return isinstance(error, OSError | asyncpg.InternalClientError)


def refuse_old(version: tuple[int, ...], shown_url: str) -> None:
    """Raise if the server is too old for tarry's SQL."""
    if version[0] < OLDEST:
        version_text = ".".join(map(str, version))
        raise StoreError(
            f"PostgreSQL at {shown_url} is version {version_text}; tarry needs {OLDEST} or newer"
        )


def refuse_encoding(encoding: str, shown_url: str) -> None:
    """Raise if the database cannot store any text, because names and tags are free text."""
    if encoding not in ENCODINGS:
        advice = "create one with ENCODING 'UTF8'"
        raise StoreError(
            f"the database {shown_url} keeps text as {encoding}, not all of it: {advice}"
        )


def _line(error: BaseException) -> str:
    """Return the text of an error on one line."""
    return " ".join(str(error).split()) or type(error).__name__
