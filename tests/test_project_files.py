import subprocess
from pathlib import Path

import pytest

from tests.project_files import project_files


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    for name in ("kept.py", "removed.py", "docs/kept.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("*.db\n")
    git(tmp_path, "add", ".")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True)  # noqa: S607  wherever it lies


def test_tracked_and_new_files_are_listed_and_leftovers_are_not(checkout: Path) -> None:
    for name in ("new.py", "hooks.db", "docs/spaces and ünïcode.md"):
        (checkout / name).touch()
    (checkout / "removed.py").unlink()
    docs = [checkout / "docs/kept.md", checkout / "docs/spaces and ünïcode.md"]
    top = [checkout / name for name in (".gitignore", "kept.py", "new.py")]
    assert project_files(root=checkout) == sorted(docs + top)
    assert project_files("docs", root=checkout) == docs


def test_a_folder_that_is_no_checkout_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="is not a git checkout: run the tests in a clone"):
        project_files(root=tmp_path)


def test_a_checkout_that_git_refuses_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere")
    with pytest.raises(RuntimeError, match="git cannot list the files of "):
        project_files(root=tmp_path)


def test_a_machine_without_git_is_an_error(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="git is missing"):
        project_files(root=checkout)
