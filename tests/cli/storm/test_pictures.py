import subprocess
import sys
from pathlib import Path

import pytest

from tarry.cli.input.policy_file import BadFile
from tarry.cli.storm.pictures import plot_to, report_to
from tarry.core.policy import Policy
from tarry.sim.run import Contestant
from tarry.sim.scenario.reader import from_toml
from tarry.sim.study import Study, study


@pytest.fixture
def found() -> Study:
    storm = from_toml("model = 'timeline'\nclients = 5\nretries = 2", "five")
    return study(storm, [Contestant("a", Policy())], seed=1, runs=2)


def test_a_report_holds_the_command_that_repeats_it(tmp_path: Path, found: Study) -> None:
    path = tmp_path / "out.html"
    report_to(path, "tarry storm run five")(found)
    assert "tarry storm run five" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_a_plot_is_what_its_name_says(
    tmp_path: Path, found: Study, name: str, start: bytes
) -> None:
    plot_to(tmp_path / name)(found)
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["a.gif", "a", "a.html"])
def test_a_plot_s_name_says_what_it_is(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(BadFile) as caught:
        plot_to(path)
    wanted = "a name that ends in .png or .svg"
    assert caught.value.message == f"'--plot' is {str(path)!r}; it must be {wanted}"


def test_a_report_is_a_page(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"it must be a name that ends in \.html or \.htm"):
        report_to(tmp_path / "a.pdf", "")


def test_a_place_that_is_not_there_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"'--plot' is .* it must be a file in a folder that is"):
        plot_to(tmp_path / "nowhere" / "a.png")
    with pytest.raises(BadFile, match=r"'--report' is .* it must be a file in a folder that is"):
        report_to(tmp_path / "nowhere" / "a.html", "")


def test_what_goes_wrong_in_writing_is_told_in_one_line(tmp_path: Path, found: Study) -> None:
    folder = tmp_path / "soon-gone"
    folder.mkdir()
    write = plot_to(folder / "a.svg")
    folder.rmdir()
    with pytest.raises(BadFile, match=r"a\.svg: No such file or directory; it could not be writ"):
        write(found)


@pytest.mark.parametrize(("option", "name"), [("--report", "a.html"), ("--plot", "a.png")])
def test_without_matplotlib_it_says_what_to_install(tmp_path: Path, option: str, name: str) -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None\nfrom tarry.cli.main import main\nmain()"
    )
    typed = ["storm", "run", "brief-blip", option, str(tmp_path / name)]
    ended = subprocess.run(
        [sys.executable, "-c", program, *typed], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"Error: {option} needs: pip install 'tarry[plots]'\n"
    assert not (tmp_path / name).exists()
