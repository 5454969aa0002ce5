"""A schema goes forward step by step, and one from the future is left alone."""

import logging
import sys
from pathlib import Path

import pytest

from tarry.errors import SchemaMismatch
from tarry.service.store.migrate import Migration, log_update, script, status, steps

ONE = Migration(1, "begin", "CREATE TABLE a (b);\n")
TWO = Migration(2, "add_more", "CREATE TABLE c (d);\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "dialect"
    (package / "migrations").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "dialect", raising=False)
    return package / "migrations"


def test_the_steps_of_a_dialect_are_its_numbered_files(folder: Path) -> None:
    (folder / "0002_add_more.sql").write_text(TWO.sql)
    (folder / "0001_begin.sql").write_text(ONE.sql)
    (folder / "README.md").write_text("not a step")
    assert steps("dialect") == (ONE, TWO)


def test_a_gap_between_steps_is_found(folder: Path) -> None:
    (folder / "0001_begin.sql").write_text(ONE.sql)
    (folder / "0003_end.sql").write_text(TWO.sql)
    with pytest.raises(ValueError, match="migration 0002 is missing"):
        steps("dialect")


def test_two_steps_of_one_number_are_found(folder: Path) -> None:
    (folder / "0001_begin.sql").write_text(ONE.sql)
    (folder / "0001_end.sql").write_text(TWO.sql)
    with pytest.raises(ValueError, match="migration 0002 is missing or there twice"):
        steps("dialect")


def test_a_misnamed_step_is_found(folder: Path) -> None:
    (folder / "1-begin.sql").write_text(ONE.sql)
    with pytest.raises(ValueError, match=r"'1-begin\.sql' is no migration"):
        steps("dialect")


@pytest.mark.parametrize(("version", "pending"), [(0, (ONE, TWO)), (1, (TWO,)), (2, ())])
def test_what_is_pending_depends_on_what_is_found(
    version: int, pending: tuple[Migration, ...]
) -> None:
    read = status((ONE, TWO), version)
    assert read.found == version
    assert read.pending == pending
    assert read.wanted == 2


def test_a_schema_from_the_future_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match="made by a newer tarry") as caught:
        status((ONE, TWO), 3)
    assert (caught.value.found, caught.value.wanted) == (3, 2)


def test_the_script_tells_each_step_in_a_transaction_of_its_own() -> None:
    assert script((ONE, TWO)) == (
        "-- 0001 begin\nBEGIN;\nCREATE TABLE a (b);\nCOMMIT;\n"
        "\n"
        "-- 0002 add more\nBEGIN;\nCREATE TABLE c (d);\nCOMMIT;\n"
    )


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        (0, ["set up the new database hooks.db with schema 2"]),
        (1, ["updated the database hooks.db from schema 1 to schema 2"]),
        (2, []),
    ],
)
def test_an_update_is_logged_in_one_line(
    version: int, lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        log_update("hooks.db", status((ONE, TWO), version))
    assert caplog.messages == lines
