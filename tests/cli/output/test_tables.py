import json
from datetime import UTC, datetime

import pytest

from tarry.cli.output import tables


def test_a_thing_is_a_line_for_each_field_that_says_something(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tables.print_fields(
        {
            "id": "app_1",
            "uid": None,
            "rate": 5,
            "fifo": False,
            "blocking": True,
            "channels": ["a", "b"],
            "metadata": {"plan": "pro"},
            "payload": {"n": [1]},
            "createdAt": "2020-01-01T00:00:00Z",
            "eventTypes": ["x"],
            "filterTypes": ["x"],
        }
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines == [line.rstrip() for line in lines]
    fields = dict(line.split("  ", 1) for line in lines)
    fields = {name: value.strip() for name, value in fields.items()}
    here = datetime(2020, 1, 1, tzinfo=UTC).astimezone()
    assert fields.pop("created").endswith(f" ago, {here:%Y-%m-%d %H:%M}")
    assert fields == {
        "id": "app_1",
        "rate": "5",
        "blocking": "yes",
        "channels": "a, b",
        "metadata": "plan=pro",
        "payload": '{"n": [1]}',
        "event types": "x",
    }


def test_names_that_are_not_ours_stay_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    tables.print_pairs({"fooBar": "[b]", "xAt": "home"})
    assert capsys.readouterr().out == "fooBar  [b]\nxAt     home\n"
    tables.print_pairs({})
    assert capsys.readouterr().out == ""


def test_a_table_has_what_its_columns_ask_for(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, object]] = [
        {"id": "x" * 31, "n": 1, "made": None},
        {"id": "y", "more": "[bold]not[/bold]\x1b[2J"},
    ]
    columns: tables.Columns = {
        "Id": "id",
        "N": "n",
        "Made": tables.time_cell("made"),
        "More": lambda row: row.get("more", "") * 20,
    }
    assert tables.print_table(rows, columns) == 2
    said = capsys.readouterr().out
    assert "x" * 31 in said
    assert "[bold]not" in said
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) <= tables.WIDTH
    assert "" not in said.splitlines()
    assert all(line == line.rstrip() for line in said.splitlines())


def test_in_a_narrow_window_each_is_a_few_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "WIDTH", 40)
    rows: list[dict[str, object]] = [
        {"id": "x" * 31, "url": "https://example.com/"},
        {"id": "y", "url": None},
    ]
    columns: tables.Columns = {"Id": "id", "URL": "url"}
    assert tables.print_table(rows, columns) == 2
    said = capsys.readouterr().out
    assert said == f"Id   {'x' * 31}\nURL  https://example.com/\n\nId  y\n"
    assert tables.print_table(rows[1:], columns) == 1  # there is room for this one
    assert capsys.readouterr().out.startswith(" Id  URL\n")


def test_an_empty_table_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert tables.print_table([], {"Id": "id"}) == tables.print_json_lines([]) == 0
    assert capsys.readouterr().out == ""


def test_programs_read_an_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"a": "ü", "n": 2**70}, {"a": "two\nlines"}]
    assert tables.print_json_lines(rows) == 2
    said = capsys.readouterr().out.splitlines()
    assert said[0] == '{"a":"ü","n":1180591620717411303424}'
    assert [json.loads(line) for line in said] == rows
