"""An error of SQLite becomes one that says what to do."""

from pathlib import Path

import apsw
import pytest

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.store.kinds import Messages
from tarry.service.store.sqlite.database.faults import BROKEN, LOST, PASSING, store_error
from tarry.service.store.sqlite.store import SqliteStore

PATH = Path("data/hooks.db")


@pytest.mark.parametrize("kind", PASSING, ids=lambda kind: kind.__name__)
def test_what_may_pass_is_worth_another_try(kind: type[apsw.Error]) -> None:
    error = kind("the words of SQLite")
    translated = store_error(error, PATH)
    assert isinstance(translated, StoreUnavailable)
    assert translated.__cause__ is error
    assert str(PATH) in str(translated)
    assert "the words of SQLite" in str(translated)


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_what_is_broken_needs_a_backup(kind: type[apsw.Error]) -> None:
    translated = store_error(kind("so it is"), PATH)
    assert not isinstance(translated, StoreUnavailable)
    assert "restore a backup" in str(translated)


def test_anything_else_is_told_as_it_is() -> None:
    translated = store_error(apsw.SQLError("no such table: hook"), PATH)
    assert not isinstance(translated, StoreUnavailable)
    assert str(translated) == f"{PATH}: SQLError: no such table: hook"


def test_a_connection_survives_a_full_disk_and_a_lock_but_no_lost_file() -> None:
    assert not issubclass(apsw.FullError, LOST)
    assert not issubclass(apsw.BusyError, LOST)
    assert issubclass(apsw.IOError, LOST)


@pytest.mark.anyio
async def test_what_could_not_be_stored_is_not_looked_for(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="cannot be stored"):
        await store.get(Messages("app_1"), "half \ud800")
    with pytest.raises(StoreError, match="cannot be stored"):
        await store.lanes([2**63])
