"""./dev measure prints a table or JSON, also beside an earlier revision."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.measure import __main__ as command
from tests.measure.duplicates import Place
from tests.measure.house import NoDeliveryError
from tests.project_files import ROOT


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], bool]:
    """Measure the checkout as one file and every other folder as two."""

    def is_here(root: Path) -> bool:
        assert (root / "src/tarry/__init__.py").exists()
        return root == ROOT

    def files(root: Path) -> list[str]:
        return ["a.py"] if is_here(root) else ["a.py", "b.py"]

    monkeypatch.setattr(command, "figures", lambda root: {"files": 1 if is_here(root) else 2})
    monkeypatch.setattr(command, "files_of_a_delivery", files)
    monkeypatch.setattr(command, "minutes_of_tests", lambda _, commit: "9.5" if commit else "8.5")
    return is_here


@pytest.mark.usefixtures("measured")
def test_a_table_has_a_line_for_each_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["now"],
        ["files", "1"],
        [*command.MINUTES.split(), "8.5"],
        [*command.PASSED.split(), "1"],
    ]


@pytest.mark.usefixtures("measured")
def test_an_earlier_revision_has_a_column_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--against", "HEAD", "--files"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[:2] == [["HEAD", "now"], ["files", "2", "1"]]
    assert lines[-2:] == [["a.py"], ["b.py", "(HEAD", "only)"]]


@pytest.mark.usefixtures("measured")
def test_json_has_the_lists_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--json", "--against", "HEAD"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "figures": {
            "HEAD": {"files": 2, command.MINUTES: "9.5", command.PASSED: 2},
            "now": {"files": 1, command.MINUTES: "8.5", command.PASSED: 1},
        },
        "files": {"HEAD": ["a.py", "b.py"], "now": ["a.py"]},
    }


@pytest.mark.usefixtures("measured")
def test_an_unknown_revision_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--against", "no-such-revision"]) == command.NO_SUCH_REVISION
    assert "no-such-revision" in capsys.readouterr().err


@pytest.mark.usefixtures("measured")
def test_all_else_is_printed_of_a_revision_whose_deliveries_cannot_be_followed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def files(root: Path) -> list[str]:
        if root != ROOT:
            raise NoDeliveryError("ImportError: no module")
        return ["a.py"]

    monkeypatch.setattr(command, "files_of_a_delivery", files)
    assert command.main(["--against", "HEAD", "--files"]) == 0
    printed = capsys.readouterr()
    lines = [line.split() for line in printed.out.splitlines()]
    assert lines[1] == ["files", "2", "1"]
    assert lines[3] == [*command.PASSED.split(), "-", "1"]
    assert lines[-1] == ["a.py"]
    assert printed.err == "HEAD: no delivery can be followed: ImportError: no module\n"


@pytest.mark.usefixtures("measured")
def test_duplicates_are_listed_if_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = (Place("a.py", 1, 6), Place("b.py", 3, 9))
    monkeypatch.setattr(command, "duplicates_at", lambda _: [pair])
    assert command.main(["--duplicates"]) == 0
    assert capsys.readouterr().out.endswith("\n  a.py:1-6 ~ b.py:3-9\n")


def test_long_names_are_cut() -> None:
    assert command.shortened("short") == "short"
    cut = command.shortened("12 " + "a" * 100)
    assert (len(cut), cut[-4:]) == (command.WIDEST, "a...")
