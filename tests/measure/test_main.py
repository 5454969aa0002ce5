"""./dev measure prints a table or JSON, also beside an earlier revision."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.measure import __main__ as command
from tests.project_files import ROOT


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], bool]:
    """Measure the checkout as one file and every other folder as two."""

    def is_here(root: Path) -> bool:
        assert (root / "src/tarry/__init__.py").exists()
        return root == ROOT

    monkeypatch.setattr(command, "figures", lambda root: {"files": 1 if is_here(root) else 2})
    files = lambda root: ["a.py"] if is_here(root) else ["a.py", "b.py"]  # noqa: E731  two lists
    monkeypatch.setattr(command, "files_of_a_delivery", files)
    return is_here


@pytest.mark.usefixtures("measured")
def test_a_table_has_a_line_for_each_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["now"],
        ["files", "1"],
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
            "HEAD": {"files": 2, command.PASSED: 2},
            "now": {"files": 1, command.PASSED: 1},
        },
        "files": {"HEAD": ["a.py", "b.py"], "now": ["a.py"]},
    }


@pytest.mark.usefixtures("measured")
def test_an_unknown_revision_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--against", "no-such-revision"]) == command.NO_SUCH_REVISION
    assert "no-such-revision" in capsys.readouterr().err


def test_long_names_are_cut() -> None:
    assert command.shortened("short") == "short"
    cut = command.shortened("12 " + "a" * 100)
    assert (len(cut), cut[-4:]) == (command.WIDEST, "a...")
