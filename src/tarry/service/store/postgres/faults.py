"""Say in tarry's own errors what PostgreSQL and the way to it have done, once for all of the store.

What may pass by itself is StoreUnavailable: the connection was lost, the server is down, starting,
full, a standby, or took too long. The rest is StoreError. Passwords are in neither.
"""

import asyncpg  # type: ignore[import-untyped]  # it ships no types

from tarry.errors import StoreError, StoreUnavailable

OLDEST = 13
"""The first version of PostgreSQL that will do."""

ENCODINGS = frozenset({"UTF8", "SQL_ASCII"})
"""Those that keep any text; the second keeps any bytes."""

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
"""What passes, by SQLSTATE; connections that fail (class 08) do too."""

FAILED = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""What the driver raises; the third if the connection is lost at an unexpected moment."""

CONTENDED = frozenset({"40001", "40P01"})
"""Serialization failure and deadlock: the transaction is to be run again at once."""

NOT_OURS = {"25006"} | {code for code in PASSING if code.startswith("57P")}
"""After these the connection is of no use: another one may lead to a server that will do."""


class Unsure(Exception):  # noqa: N818  not an error yet: it becomes StoreUnavailable
    """A commit was made here, but perhaps not on the standby that it was to be made on as well."""


class Stale(Exception):  # noqa: N818  a sign to begin again, not an error
    """Something has changed since it was looked at; to be done again, as for a lost conflict."""

    sqlstate = "40001"


def contended(error: BaseException) -> bool:
    """Whether the transaction lost against another and will do when it is run again.

    A statement that was prepared before the schema changed is forgotten by then, too.
    """
    if isinstance(error, asyncpg.InvalidCachedStatementError):
        return True
    return getattr(error, "sqlstate", None) in CONTENDED


def translate(error: BaseException) -> StoreError:
    """The error of tarry for one of the driver's, of the system's or of a time limit."""
    if isinstance(error, StoreError):
        return error
    passing = _passing(error)
    if passing:
        return StoreUnavailable(passing)
    if isinstance(error, asyncpg.PostgresError):
        return StoreError(f"PostgreSQL refused: {_line(error)}")
    return StoreError(f"PostgreSQL was not asked: {_line(error)}")


def translate_connecting(error: BaseException, shown: str, database: str) -> StoreError:
    """Likewise for what went wrong before anything was asked; `shown` is the URL to show."""
    if isinstance(error, StoreError):
        return error
    state = getattr(error, "sqlstate", None) or ""
    passing = _passing_connecting(error, state)
    if passing:
        return StoreUnavailable(f"{shown}: {passing}")
    refusal = {
        "28000": "PostgreSQL refuses the user, or a connection without encryption",
        "28P01": "PostgreSQL refuses the user or the password",
        "3D000": f"there is no database {database!r}: create it, or name another",
        "42501": f"the user may not do that ({_line(error)})",
    }.get(state, f"the database cannot be used ({_line(error)})")
    return StoreError(f"{shown}: {refusal}")


def _passing(error: BaseException) -> str:
    """What has happened, if it may pass by itself."""
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
    """Whether it is what drivers and systems say when a connection is gone."""
    if isinstance(error, asyncpg.InterfaceError):  # for wrong uses as well
        return "clos" in str(error)
    return isinstance(error, OSError | asyncpg.InternalClientError)


def refuse_old(version: tuple[int, ...], shown: str) -> None:
    """Raise if the server is older than what tarry's SQL needs."""
    if version[0] < OLDEST:
        found = ".".join(map(str, version))
        raise StoreError(f"PostgreSQL at {shown} is version {found}; tarry needs {OLDEST} or newer")


def refuse_encoding(encoding: str, shown: str) -> None:
    """Raise if the database cannot keep any text: names and tags are people's own."""
    if encoding not in ENCODINGS:
        wanted = "create one with ENCODING 'UTF8'"
        raise StoreError(f"the database {shown} keeps text as {encoding}, not all of it: {wanted}")


def _line(error: BaseException) -> str:
    """What it says, as one line."""
    return " ".join(str(error).split()) or type(error).__name__
