"""What the lock files pin."""

from pathlib import Path

import pytest

from tests.audit.locks import Pinned, all_pinned, pinned

LOCK = f"""\
# made by a program
Some_Package==1.2 \\
    --hash=sha256:{"a" * 64} \\
    --hash=sha256:{"b" * 64}
    # via other
other==3 ; python_full_version < '3' \\
    --hash=sha256:{"c" * 64}
"""


def test_a_lock_is_read_with_hashes_and_markers(tmp_path: Path) -> None:
    file = tmp_path / "dev.txt"
    file.write_text(LOCK)
    first, second = pinned(file)
    hashes = (f"sha256:{'a' * 64}", f"sha256:{'b' * 64}")
    assert first == Pinned(first.name, "1.2", None, hashes, "dev.txt")
    assert (first.name, first.is_for_this_machine) == ("some-package", True)
    assert (second.name, second.is_for_this_machine) == ("other", False)


def test_a_line_without_a_version_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "dev.txt").write_text("some-package>=1\n")
    with pytest.raises(ValueError, match=r"dev.txt: 'some-package>=1' names no version"):
        all_pinned(tmp_path)


def test_the_projects_locks_are_read() -> None:
    assert {package.lock for package in all_pinned()} == {"bench.txt", "dev.txt"}
