"""The locks pin everything by hash and say nothing about where packages come from."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project_files import project_files

LOCKS = [path for path in project_files("requirements") if path.suffix == ".txt"]
PINNED = re.compile(r"[\w.-]+==[\w.!+]+( ; .+)?")


def requirements(lock: Path) -> list[str]:
    """Give each requirement with its hashes as one line, comments left out."""
    said = re.sub(r"^\s*#.*\n", "", lock.read_text(), flags=re.MULTILINE)
    return said.replace("\\\n", "").splitlines()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_names_no_host_and_no_index(lock: Path) -> None:
    assert not re.findall(r".*(?:://|www\.|--(?!hash)\w+| @ ).*", lock.read_text())


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_pinned_to_one_version_and_its_hashes(lock: Path) -> None:
    for requirement in requirements(lock):
        name_and_version, *hashes = requirement.split(" --hash=")
        assert PINNED.fullmatch(name_and_version.strip())
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one.strip()) for one in hashes)


def test_the_lock_lacks_nothing_that_its_packages_need() -> None:
    check = [sys.executable, "-m", "pip", "check"]  # ./dev installs the lock and nothing else
    result = subprocess.run(check, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
