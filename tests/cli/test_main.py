import signal
import subprocess
import sys
from collections.abc import Iterator
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


@pytest.fixture
def default_sigint() -> Iterator[None]:
    """Handle SIGINT as Python does by default, here and in child processes.

    A shell starts background jobs with SIGINT ignored, and a test run inherits that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_sigint")
@pytest.mark.parametrize("heard", [True, False])
def test_ctrl_c_ends_it_without_a_word_before_it_has_begun(*, heard: bool) -> None:
    program = """
import os, signal, sys

class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == "tarry.cli.commands":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Impatient())
from tarry.cli.main import main
main()
"""
    if not heard:  # as a shell does with what it begins in the background
        program = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + program
    ended = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT if heard else 0, "")


@pytest.mark.usefixtures("default_sigint")
def test_ctrl_c_is_told_to_commands_that_have_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["anything", "--version"])
    with pytest.raises(SystemExit):
        entry.main()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


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
    forget_commands(monkeypatch, "tarry.cli.extras")
    with pytest.raises(ModuleNotFoundError, match=r"tarry\.cli\.extras"):
        entry.main()
