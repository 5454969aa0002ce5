"""./dev audit prints a line for each check, and fails if one of them does."""

from pathlib import Path

import pytest

from tests.audit import __main__ as command
from tests.audit.check import Result, State


def planted(**results: Result) -> object:
    return lambda _advisories: {name: lambda found=found: found for name, found in results.items()}


GOOD = Result(State.OK, "3 files")
BAD = Result(State.FAILED, "2 pins", ("one is wrong", "two is wrong"))
NONE = Result(State.NOT_CHECKED, "no source of advisories")


def test_all_well(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "checks", planted(files=GOOD))
    assert command.main([]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "files          ok           3 files",
        "all well",
    ]


def test_a_check_that_fails_fails_the_audit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "checks", planted(files=GOOD, hashes=BAD, advisories=NONE))
    assert command.main([]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "files          ok           3 files",
        "hashes         FAILED       2 pins",
        "               one is wrong",
        "               two is wrong",
        "advisories     not checked  no source of advisories",
        "NOT CHECKED: advisories",
        "FAILED: hashes",
    ]


def test_what_was_not_checked_is_not_called_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "checks", planted(files=GOOD, advisories=NONE))
    assert command.main([]) == 0
    *_, skipped, last = capsys.readouterr().out.splitlines()
    assert (skipped, last) == ("NOT CHECKED: advisories", "all other checks passed")


def test_one_check_can_be_chosen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "checks", planted(files=GOOD, hashes=BAD))
    assert command.main(["--only", "files"]) == 0
    assert "hashes" not in capsys.readouterr().out


def test_the_folder_of_advisories_comes_from_a_flag_or_a_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ["--only", "advisories"]
    monkeypatch.delenv("TARRY_ADVISORIES", raising=False)
    assert command.main(only) == 0
    assert "not checked" in capsys.readouterr().out
    assert command.main([*only, "--advisories", str(tmp_path)]) == 1
    assert "has no advisories" in capsys.readouterr().out
    monkeypatch.setenv("TARRY_ADVISORIES", str(tmp_path))
    assert command.main(only) == 1


def test_the_project_itself_passes(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("licences", "files", "service files")
    assert command.main([word for name in chosen for word in ("--only", name)]) == 0, (
        capsys.readouterr().out
    )
