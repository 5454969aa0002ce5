import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.store.postgres.database import faults

URL = "postgresql://me:***@db.example/hooks"


def error_of(state: str) -> Exception:
    error: Exception = asyncpg.PostgresError.new({"C": state, "M": "as the server says it"})
    return error


@pytest.mark.parametrize("state", [*faults.PASSING, *faults.CONTENDED, "08006", "08003"])
def test_what_passes_by_itself_is_unavailable(state: str) -> None:
    translated = faults.translate(error_of(state))
    assert isinstance(translated, StoreUnavailable)
    assert translated.retry_after > 0


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError("reset"),
        TimeoutError(),
        asyncpg.InterfaceError("connection is closed"),
        asyncpg.ConnectionDoesNotExistError("gone"),
        faults.Unsure("cancelled"),
        faults.Stale(),
    ],
)
def test_a_lost_connection_and_a_doubtful_commit_are_unavailable(error: Exception) -> None:
    assert isinstance(faults.translate(error), StoreUnavailable)


@pytest.mark.parametrize(
    "error",
    [
        error_of("22021"),
        error_of("42P01"),
        asyncpg.InterfaceError("another operation is in progress"),
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    ],
)
def test_anything_else_is_an_error_that_stays(error: Exception) -> None:
    translated = faults.translate(error)
    assert not isinstance(translated, StoreUnavailable)
    assert "\n" not in str(translated)


def test_an_error_of_ours_is_left_alone() -> None:
    error = StoreError("as it is")
    assert faults.translate(error) is error
    assert faults.translate_connecting(error, URL, "hooks") is error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (error_of("28P01"), "the user or the password"),
        (error_of("28000"), "refuses the user"),
        (error_of("3D000"), "there is no database 'hooks'"),
        (error_of("42501"), "may not"),
        (asyncpg.ClientConfigurationError("no such option"), "no such option"),
    ],
)
def test_a_connection_that_is_refused_says_why(error: Exception, words: str) -> None:
    translated = faults.translate_connecting(error, URL, "hooks")
    assert not isinstance(translated, StoreUnavailable)
    assert words in str(translated)
    assert URL in str(translated)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connect call failed"), "no PostgreSQL answers"),
        (TimeoutError(), "nothing answered in time"),
        (error_of("57P03"), "starting up"),
        (error_of("53300"), "no connection to spare"),
        (asyncpg.TargetServerAttributeNotMatched("none"), "of the kind"),
        (asyncpg.InterfaceError("the underlying connection is closed"), "no PostgreSQL answers"),
        (asyncpg.InternalClientError("cannot switch to state 15"), "no PostgreSQL answers"),
    ],
)
def test_a_server_that_is_not_there_yet_may_come(error: Exception, words: str) -> None:
    translated = faults.translate_connecting(error, URL, "hooks")
    assert isinstance(translated, StoreUnavailable)
    assert words in str(translated)


def test_an_old_server_is_refused() -> None:
    faults.refuse_old((13, 0), URL)
    with pytest.raises(StoreError, match=r"12\.22; tarry needs 13 or newer"):
        faults.refuse_old((12, 22), URL)


def test_a_database_that_cannot_keep_any_text_is_refused() -> None:
    faults.refuse_encoding("UTF8", URL)
    with pytest.raises(StoreError, match=r"keeps text as LATIN1.*ENCODING 'UTF8'"):
        faults.refuse_encoding("LATIN1", URL)


def test_only_lost_conflicts_are_run_again() -> None:
    assert faults.contended(error_of("40001"))
    assert faults.contended(error_of("40P01"))
    assert faults.contended(faults.Stale())
    assert not faults.contended(error_of("23505"))
    assert not faults.contended(ValueError())
