import subprocess
import sys
from importlib.metadata import version

import pytest

from tarry.cli import main as entry

NEEDS = "tarry's command line needs: pip install 'tarry[cli]'\n"


def test_it_runs_as_a_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["anything", "--version"])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"tarry {version('tarry')}\n"


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_extra_it_says_what_to_install(missing: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\nfrom tarry.cli.main import main\nmain()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", NEEDS)


def test_what_is_printed_to_nobody_is_no_error() -> None:
    program = "import sys; sys.stdout = None\nfrom tarry.cli.main import main\nmain()\n"
    ended = subprocess.run(
        [sys.executable, "-c", program, "storm", "list"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def forget_commands(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """Make the next import of the commands fail for want of a module."""
    for name in [name for name in sys.modules if name.startswith("tarry.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("tarry.cli.commands")
    monkeypatch.setitem(sys.modules, missing, None)


def test_a_missing_extra_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forget_commands(monkeypatch, "click")
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 2
    assert capsys.readouterr() == ("", NEEDS)


def test_a_hole_in_tarry_itself_is_not_blamed_on_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forget_commands(monkeypatch, "tarry.core.schema")
    with pytest.raises(ModuleNotFoundError, match=r"tarry\.core\.schema"):
        entry.main()
