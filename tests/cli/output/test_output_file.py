from pathlib import Path

import pytest

from tarry.cli.input.policy_file import BadFile
from tarry.cli.output.output_file import check, write_file

SUFFIXES = (".png", ".svg")


def refused(path: Path) -> str:
    """Say what the path must be."""
    with pytest.raises(BadFile) as caught:
        check("--plot", path, SUFFIXES)
    assert caught.value.exit_code == 2
    start, _, wanted = caught.value.message.partition("; it must be ")
    assert start == f"'--plot' is {str(path)!r}"
    return wanted


@pytest.mark.parametrize("name", ["a.gif", "a", "a.html", ".svg"])
def test_a_name_ends_in_one_of_the_suffixes(tmp_path: Path, name: str) -> None:
    assert refused(tmp_path / name) == "a name that ends in .png or .svg"


@pytest.mark.parametrize("name", ["a.png", "a.SVG", "a.b.svg"])
def test_a_good_place_is_let_through_and_left_alone(tmp_path: Path, name: str) -> None:
    check("--plot", tmp_path / name, SUFFIXES)
    assert not list(tmp_path.iterdir())
    (tmp_path / name).write_text("old")
    check("--plot", tmp_path / name, SUFFIXES)
    assert (tmp_path / name).read_text() == "old"


def test_a_file_is_in_a_folder_that_is_there(tmp_path: Path) -> None:
    assert refused(tmp_path / "nowhere" / "a.png") == "a file in a folder that is there"
    (tmp_path / "a.png").mkdir()
    assert refused(tmp_path / "a.png") == "a file in a folder that is there"


def test_a_place_that_may_not_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    # root may write everywhere, so the answer is given here
    monkeypatch.setattr("os.access", lambda path, _: asked.append(path))
    assert refused(tmp_path / "a.png") == "a file that can be written"
    (tmp_path / "a.png").touch()
    assert refused(tmp_path / "a.png") == "a file that can be written"
    assert asked == [tmp_path, tmp_path / "a.png"]


def test_what_can_be_written_is(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    write_file(path, lambda: path.write_text("<svg/>"))
    assert path.read_text() == "<svg/>"


def test_what_goes_wrong_in_writing_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "a.svg"
    with pytest.raises(BadFile) as caught:
        write_file(path, lambda: path.write_text("<svg/>"))
    assert caught.value.message == f"{path}: No such file or directory; it could not be written"
