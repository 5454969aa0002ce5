"""Queries are read by name from packaged files, and a careless file is refused."""

import sys
from pathlib import Path

import pytest

from tarry.service.store.sql_files import Query, downwards, load, parse

TWO = """-- What this file is about.

-- name: settle
-- Close a delivery;
-- the tries are the fence.
UPDATE delivery
   SET state = :state;  -- in place

-- name: rest
-- Let a lane rest.
UPDATE lane SET awake = 0;
"""


def test_a_query_has_its_name_its_purpose_and_its_sql() -> None:
    settle, rest = parse(TWO)
    assert settle.name == "settle"
    assert settle.purpose == "Close a delivery; the tries are the fence."
    assert settle.sql == "UPDATE delivery\n   SET state = :state;  -- in place"
    assert rest == Query("rest", "Let a lane rest.", "UPDATE lane SET awake = 0")


def test_parts_are_put_where_they_are_named() -> None:
    text = """-- part: fits
-- It is so.
a = '{}'

-- part: all_fits
-- It is so, and more.
{fits}
   AND b

-- name: rest
-- Let it rest.
SELECT 1 WHERE {all_fits} OR {fits};
"""
    assert parse(text) == [
        Query("rest", "Let it rest.", "SELECT 1 WHERE a = '{}'\n   AND b OR a = '{}'")
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("-- name: a\n-- b\nSELECT {c}\n-- part: c\n-- d\n1", "no '-- part: c' before"),
        ("-- part: c\n1\n-- name: a\n-- b\nSELECT {c}", "query 'c' needs a line"),
        ("SELECT 1;\n-- name: a\n-- b\nSELECT 1", "before the first"),
        ("-- name: a\nSELECT 1", "query 'a' needs a line"),
        ("-- name: a\n-- b\n", "query 'a' has no SQL"),
        ("-- name: A-b\n-- b\nSELECT 1", "'A-b' is no name"),
        ("-- name:\n-- b\nSELECT 1", "'' is no name"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=rf"^rows\.sql: .*{complaint}"):
        parse(text, "rows.sql")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "dialect"
    (package / "sql").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "dialect", raising=False)
    return package / "sql"


def test_all_files_of_a_package_are_loaded(folder: Path) -> None:
    (folder / "one.sql").write_text(TWO)
    (folder / "two.sql").write_text("-- name: added\n-- How many.\nSELECT 1;\n")
    (folder / "notes.txt").write_text("no SQL at all")
    assert list(load("dialect")) == ["settle", "rest", "added"]


def test_a_name_may_be_used_once_only(folder: Path) -> None:
    (folder / "one.sql").write_text(TWO)
    (folder / "two.sql").write_text(TWO)
    with pytest.raises(ValueError, match=r"^two\.sql: there is another query 'settle' already"):
        load("dialect")


def test_a_query_can_be_turned_round() -> None:
    up = (
        "SELECT id FROM (SELECT id FROM thing\n ORDER BY kind, thing.id\n LIMIT 5)\n"
        " ORDER BY id\n LIMIT 2"
    )
    down = (
        "SELECT id FROM (SELECT id FROM thing\n ORDER BY kind DESC, thing.id DESC\n LIMIT 5)\n"
        " ORDER BY id DESC\n LIMIT 2"
    )
    assert downwards(up) == down


@pytest.mark.parametrize("sql", ["SELECT 1", "SELECT id FROM thing ORDER BY id LIMIT 5"])
def test_a_query_without_an_order_to_turn_is_refused(sql: str) -> None:
    with pytest.raises(ValueError, match="ORDER BY columns"):
        downwards(sql)
