"""`tarry migrate`: what is to be done, doing it, and a schema from the future."""

import json
from pathlib import Path

import apsw
import psycopg
import pytest
from click.testing import CliRunner, Result

from tarry.cli.service.migrate import migrate


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'hooks.db'}"
    return str(request.getfixturevalue("database_url"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(migrate, arguments)


def test_up_makes_all_steps_and_says_so(url: str) -> None:
    first = run("up", "--db", url)
    assert (first.exit_code, first.stdout) == (0, first.stdout), first.stderr
    assert first.stdout.startswith("schema 0 is now ")
    assert "is up to date" in run("up", "--db", url).stdout


def test_status_names_the_steps_that_are_to_be_made(url: str) -> None:
    before = run("status", "--db", url)
    assert before.exit_code == 0, before.stderr
    assert before.stdout.startswith("schema 0; this tarry works with ")
    assert "pending: 0001 begin" in before.stdout
    run("up", "--db", url)
    assert "to be made" not in run("status", "--db", url).stdout


def test_programs_are_told_the_same(url: str) -> None:
    before = json.loads(run("status", "--db", url, "--json").stdout)
    assert (before["found"], before["pending"][0]) == (0, {"number": 1, "name": "begin"})
    assert json.loads(run("up", "--db", url, "--json").stdout) == before
    after = json.loads(run("status", "--db", url, "--json").stdout)
    assert after == {"found": before["wanted"], "wanted": before["wanted"], "pending": []}


def test_sql_prints_what_up_would_run_and_runs_nothing(url: str) -> None:
    shown = run("sql", "--db", url)
    assert shown.exit_code == 0, shown.stderr
    assert "CREATE TABLE" in shown.stdout
    assert run("sql", "--db", url).stdout == shown.stdout
    run("up", "--db", url)
    assert "CREATE TABLE" not in run("sql", "--db", url).stdout


def test_a_schema_from_the_future_is_refused_with_one_line(url: str) -> None:
    run("up", "--db", url)
    if url.startswith("sqlite"):
        db = apsw.Connection(url.removeprefix("sqlite:///"))
        db.pragma("user_version", 99)
        db.close()
    else:
        with psycopg.connect(url) as connection:
            connection.execute("INSERT INTO tarry.migration (number, name) VALUES (99, 'future')")
    refused = run("up", "--db", url)
    assert refused.exit_code == 3
    assert "upgrade this one" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_url_of_no_database_is_a_wrong_setting() -> None:
    refused = run("status", "--db", "hooks.db")
    assert refused.exit_code == 2
    assert refused.stderr.count("\n") == 1
