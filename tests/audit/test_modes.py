"""The check of file modes fails on each kind of open file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.audit.check import State
from tests.audit.modes import check_project, open_to_others


def plain(folder: Path) -> Path:
    file = folder / "plain.py"
    file.write_text("value = 1\n")
    file.chmod(0o644)
    return file


def script(folder: Path) -> Path:
    file = folder / "script"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_a_script_and_a_plain_file_pass(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.symlink_to("plain.py")
    found = check_project([plain(tmp_path), script(tmp_path), inside], tmp_path)
    assert (found.state, found.summary) == (State.OK, "3 files of the project")


@pytest.mark.parametrize(
    ("make", "mode", "problem"),
    [
        (plain, 0o755, "plain.py is executable and no script"),
        (plain, 0o645, "plain.py is executable and no script"),
        (plain, 0o666, "plain.py can be written by everybody"),
        (script, 0o757, "script can be written by everybody"),
        (script, 0o4755, "script runs as its owner or group"),
    ],
)
def test_an_open_file_fails(
    tmp_path: Path, make: Callable[[Path], Path], mode: int, problem: str
) -> None:
    file = make(tmp_path)
    file.chmod(mode)
    found = check_project([file], tmp_path)
    assert found.state is State.FAILED
    assert found.problems[0].startswith(problem)


def test_a_link_to_the_outside_and_no_files_fail(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    link = tmp_path / "project" / "link"
    link.symlink_to("../secret")
    found = check_project([link], tmp_path / "project")
    assert found.problems == ("link is a link to a place outside of the project",)
    assert check_project([], tmp_path).state is State.FAILED


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o602, 0o601])
def test_a_file_of_a_service_that_others_may_open_is_found(tmp_path: Path, mode: int) -> None:
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / "hooks.db"
    file.touch(0o600)
    assert open_to_others(tmp_path) == []
    file.chmod(mode)
    assert open_to_others(tmp_path) == [f"folder/hooks.db has the mode {mode:04o}"]


def test_a_service_without_files_is_found(tmp_path: Path) -> None:
    assert open_to_others(tmp_path) == [f"{tmp_path.name} has no files"]
