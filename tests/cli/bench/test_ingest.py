import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from click.testing import Result

from tarry.cli.bench import ingest

Bench = Callable[..., Result]


def test_messages_are_on_disk_beside_their_floors(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    url = f"sqlite:////{str(file).lstrip('/')}"
    few = ("--messages", "200", "--connections", "8", "--rounds", "1", "--json")
    ended = bench("ingest", "--db", url, *few)
    assert ended.exit_code == 0, ended.output
    rows = json.loads(ended.output)
    echo, framed, single, single_half, delivered, bare, batched, batched_half = rows
    assert echo["to_floor"] == bare["to_floor"] == 1.0
    for row, floor in ((framed, echo), (single, echo), (delivered, echo), (batched, bare)):
        ratio = row["messages_per_second"] / floor["messages_per_second"]
        assert row["to_floor"] == pytest.approx(ratio)
    assert all(0 < row["p50"] <= row["p99"] for row in rows)
    for half, full in ((single_half, single), (batched_half, batched)):
        assert half["what"] == f"{full['what']}, at half that rate"
    assert single_half["messages_per_second"] < 0.75 * single["messages_per_second"]
    kept = apsw.Connection(str(file)).execute("SELECT count(*) FROM message").get
    assert kept == 2 * (200 + 1000)


def test_it_is_shown_as_a_table(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "find_spec", lambda _: None)
    said = bench("ingest", "--messages", "100", "--rounds", "1").output
    assert "Starlette" not in said
    assert "bare echo" in said
    assert "bare inserts" in said
    assert "CPU" in said


@pytest.mark.parametrize("typed", [("--messages", "5"), ("--connections", "0"), ("--rounds", "0")])
def test_what_cannot_be_is_refused(bench: Bench, typed: tuple[str, ...]) -> None:
    assert bench("ingest", *typed).exit_code == 2


def test_a_database_that_is_in_use_is_left_alone(
    bench: Bench, used: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert bench("ingest", "--db", used, "--messages", "100").exit_code == 2
    assert "without applications" in capfd.readouterr().err
