import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tarry.cli.commands import tarry
from tarry.core.backoff import Exponential, Fixed
from tarry.core.codec import to_dict
from tarry.core.explain import schedule, sentences
from tarry.core.jitter import Full, NoJitter
from tarry.core.policy import Policy
from tarry.core.text import to_json, to_toml

PLAIN = Policy(backoff=Exponential(base=0.5, cap=240), jitter=Full(), attempts=4, name="orders")


def run(*typed: str | Path) -> Result:
    return CliRunner().invoke(tarry, ["explain", *map(str, typed)])


@pytest.fixture(params=[".toml", ".json", ".JSON"])
def plain(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"plain{request.param}"
    write = to_toml if request.param == ".toml" else to_json
    path.write_text(write(PLAIN), encoding="utf-8")
    return path


def written(folder: Path, policy: Policy) -> Path:
    path = folder / "policy.toml"
    path.write_text(to_toml(policy), encoding="utf-8")
    return path


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip()[1:-1].replace("┃", "│").split("│")]


def test_people_get_a_table_and_sentences(plain: Path) -> None:
    told = run(plain)
    assert told.exit_code == 0
    assert told.stderr == ""
    table, rest = told.stdout.split("└", maxsplit=1)
    lines = table.splitlines()
    assert lines[0] == "Wait before each attempt, and all waits up to it:"
    assert cells(lines[2]) == ["", "Wait", "Wait", "Wait", "Total", "Total", "Total"]
    assert cells(lines[3]) == ["Attempt", *["least", "typical", "most"] * 2]
    assert [cells(line) for line in lines[5:]] == [
        ["2", "0 s", "250 ms", "500 ms", "0 s", "250 ms", "500 ms"],
        ["3", "0 s", "500 ms", "1 s", "0 s", "750 ms", "1.5 s"],
        ["4", "0 s", "1 s", "2 s", "0 s", "1.75 s", "3.5 s"],
    ]
    assert rest.splitlines()[1:] == sentences(PLAIN)


def test_programs_get_json(plain: Path) -> None:
    told = run(plain, "--json")
    assert told.exit_code == 0
    assert json.loads(told.stdout) == {
        "policy": to_dict(PLAIN),
        "attempts": [
            {
                "attempt": row.attempt,
                "wait": {
                    "least": row.wait.least,
                    "typical": row.wait.typical,
                    "most": row.wait.most,
                },
                "total": {
                    "least": row.total.least,
                    "typical": row.total.typical,
                    "most": row.total.most,
                },
            }
            for row in schedule(PLAIN)
        ],
        "total": {"least": 0.0, "typical": 1.75, "most": 3.5},
        "unlimited": False,
    }


def test_a_policy_without_a_limit_shows_ten_retries_and_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, Policy(attempts=None, backoff=Fixed(1), jitter=NoJitter()))
    note = "The first 10 retries are shown."
    told = run(path)
    assert note in told.stdout.splitlines()
    assert [cells(line)[0] for line in told.stdout.splitlines() if line.startswith("│")] == [
        str(attempt) for attempt in range(2, 12)
    ]
    told = run(path, "--json")
    document = json.loads(told.stdout)
    assert document["unlimited"] is True
    assert len(document["attempts"]) == 10
    told = run(path, "--attempts", "3")
    assert note not in told.stdout
    assert [cells(line)[0] for line in told.stdout.splitlines() if line.startswith("│")] == [
        "2",
        "3",
    ]


def test_one_attempt_has_no_table_and_no_waits(tmp_path: Path) -> None:
    path = written(tmp_path, Policy(attempts=1))
    assert run(path).stdout == "It makes one attempt and no retry.\n"
    document = json.loads(run(path, "--json").stdout)
    assert document["attempts"] == []
    assert document["total"] == {"least": 0.0, "typical": 0.0, "most": 0.0}


def test_a_name_is_not_taken_for_markup(tmp_path: Path) -> None:
    path = written(tmp_path, Policy(attempts=2, name="[bold]\u2028[/]"))
    assert run(path).exit_code == 0
    assert json.loads(run(path, "--json").stdout)["policy"]["name"] == "[bold]\u2028[/]"


def test_a_file_that_is_wrong_ends_with_two_and_one_line(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("atempts = 3", encoding="utf-8")
    told = run(path)
    assert told.exit_code == 2
    assert told.stdout == ""
    assert told.stderr.startswith(f"Error: {path}: 'atempts' is 3; it must be one of the keys ")
    assert told.stderr.endswith("(did you mean attempts?)\n")
    assert told.stderr.count("\n") == 1


@pytest.mark.parametrize("attempts", ["0", "-1", "many"])
def test_a_number_of_attempts_is_one_or_more(plain: Path, attempts: str) -> None:
    told = run(plain, "--attempts", attempts)
    assert told.exit_code == 2
    assert "--attempts" in told.stderr


def test_the_help_names_the_options_and_the_exit_codes() -> None:
    told = run("--help")
    assert told.exit_code == 0
    for word in ("--json", "--plot", "--attempts N", "POLICY", "Exit codes: 0,", "2, the file"):
        assert word in told.stdout


def test_a_policy_with_very_many_attempts_shows_a_hundred_retries(tmp_path: Path) -> None:
    path = written(tmp_path, Policy(attempts=1_000_000_000, backoff=Fixed(1), jitter=NoJitter()))
    assert "The first 100 retries are shown." in run(path).stdout.splitlines()
    assert len(json.loads(run(path, "--json").stdout)["attempts"]) == 100
    assert len(json.loads(run(path, "--json", "--attempts", "200").stdout)["attempts"]) == 199
    told = run(path, "--attempts", "20000")
    assert told.exit_code == 2
    assert "10000" in told.stderr


def test_a_picture_of_the_waits_is_written_beside_what_is_printed(
    plain: Path, tmp_path: Path
) -> None:
    told = run(plain, "--plot", tmp_path / "waits.svg", "--attempts", "3")
    assert told.exit_code == 0
    assert told.stdout == run(plain, "--attempts", "3").stdout
    words = [text for text in (tmp_path / "waits.svg").read_text().split("</text>") if text]
    shown = [text.rpartition(">")[2] for text in words]
    assert "Wait before each attempt: orders" in shown
    assert {"2", "3"} <= set(shown)
    assert "4" not in shown


def test_a_picture_of_a_policy_without_a_name_has_the_name_of_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, Policy(attempts=3))
    assert run(path, "--plot", tmp_path / "waits.svg", "--json").exit_code == 0
    assert "Wait before each attempt: policy<" in (tmp_path / "waits.svg").read_text()
    assert run(path, "--plot", tmp_path / "waits.png").exit_code == 0
    assert (tmp_path / "waits.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_written_is_said_before_anything_is_printed(
    plain: Path, tmp_path: Path
) -> None:
    told = run(plain, "--plot", tmp_path / "waits.pdf")
    assert told.exit_code == 2
    assert told.stdout == ""
    assert told.stderr.endswith("it must be a name that ends in .png or .svg\n")
