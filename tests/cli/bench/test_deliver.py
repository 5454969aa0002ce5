import json
from collections.abc import Callable

import pytest
from click.testing import Result

from tarry.cli.bench import deliver
from tarry.cli.bench.deliver import Row

Bench = Callable[..., Result]
FEW = ("deliver", "--deliveries", "200", "--rounds", "1", "--applications", "2")


def test_a_backlog_drains_beside_the_floor(bench: Bench) -> None:
    ended = bench(*FEW, "--json")
    assert ended.exit_code == 0, ended.output
    floor, tarry = json.loads(ended.output)
    assert floor["to_floor"] == 1.0
    assert tarry["what"] == "tarry in this process, sqlite"
    assert (tarry["lost"], tarry["duplicated"]) == (0, 0)
    assert tarry["to_floor"] == pytest.approx(tarry["per_second"] / floor["per_second"])
    assert tarry["cpu_microseconds"] > 0


def test_sealing_is_measured_beside_not_sealing(bench: Bench) -> None:
    ended = bench(*FEW, "--seal-payloads", "--json")
    assert ended.exit_code == 0, ended.output
    _, plain, sealed = json.loads(ended.output)
    assert sealed["what"] == f"{plain['what']}, sealed"
    assert (sealed["lost"], sealed["duplicated"]) == (0, 0)
    ratio = f"{sealed['per_second'] / plain['per_second']:.2f} x sent"
    assert ratio in sealed["note"]


@pytest.mark.slow
def test_workers_share_a_server(bench: Bench, database_url: str) -> None:
    ended = bench(*FEW, "--json", "--db", database_url, "--workers", "1", "--workers", "2")
    assert ended.exit_code == 0, ended.output
    _, one, two = json.loads(ended.output)
    assert [one["what"], two["what"]] == [
        "tarry, 1 worker process, postgresql",
        "tarry, 2 worker processes, postgresql",
    ]
    assert [row["lost"] + row["duplicated"] for row in (one, two)] == [0, 0]


def test_rivals_are_measured_from_a_checkout_only(bench: Bench) -> None:
    ended = bench(*FEW, "--rivals")
    assert ended.exit_code == 2
    assert "./dev bench deliver --rivals" in ended.output


def test_rivals_get_lines_of_their_own(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        deliver, "RIVALS", [lambda count: [Row("someone", count / 2, 0.1, note="slow")]]
    )
    said = bench(*FEW, "--rivals").output
    assert "someone" in said
    assert "slow" in said


@pytest.mark.parametrize(
    ("typed", "code", "words"),
    [
        (("--deliveries", "1"), 2, "100"),
        (("--workers", "0"), 2, "--workers"),
        (("--db", "mysql://somewhere"), 2, "sqlite:///FILE"),
        (("--db", "postgresql://127.0.0.1:1/x"), 3, "127.0.0.1"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    bench: Bench, typed: tuple[str, ...], code: int, words: str
) -> None:
    ended = bench(*FEW, *typed)
    assert ended.exit_code == code, ended.output
    assert words in ended.output
    assert "Traceback" not in ended.output


def test_a_database_that_is_in_use_is_left_alone(bench: Bench, used: str) -> None:
    ended = bench(*FEW, "--db", used)
    assert (ended.exit_code, "without applications" in ended.output) == (2, True)
