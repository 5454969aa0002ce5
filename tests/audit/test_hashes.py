"""The comparison of what is installed fails on whatever was changed."""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.audit.check import State
from tests.audit.hashes import check_hashes
from tests.audit.locks import Pinned

HASHES = (f"sha256:{'a' * 64}",)


def a_pin(name: str = "one", version: str = "1.0", hashes: tuple[str, ...] = HASHES) -> Pinned:
    return Pinned(canonicalize_name(name), version, None, hashes, "dev.txt")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with one installed package."""
    info = tmp_path / "one-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: one\nVersion: 1.0\n")
    (tmp_path / "one.py").write_text("value = 1\n")
    lines = []
    for file in ("one.py", "one-1.0.dist-info/METADATA"):
        digest = hashlib.sha256((tmp_path / file).read_bytes()).digest()
        lines.append(f"{file},sha256={urlsafe_b64encode(digest).rstrip(b'=').decode()},10")
    lines.append("one-1.0.dist-info/RECORD,,")
    (info / "RECORD").write_text("\n".join(lines))
    return tmp_path


def test_a_package_that_is_as_it_was_passes(installed: Path) -> None:
    found = check_hashes([a_pin()], [a_pin()], installed)
    assert found.state is State.OK
    assert found.summary == "1 pins, 1 installed packages, 2 files"


def _change(folder: Path) -> None:
    (folder / "one.py").write_text("value = 2\n")


def _remove(folder: Path) -> None:
    (folder / "one.py").unlink()


def _add_unhashed(folder: Path) -> None:
    with (folder / "one-1.0.dist-info" / "RECORD").open("a") as record:
        record.write("\nmore.py,,\n")


def _forget(folder: Path) -> None:
    (folder / "one-1.0.dist-info" / "RECORD").unlink()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_change, "one: one.py was changed after it was installed"),
        (_remove, "one: one.py is missing"),
        (_add_unhashed, "one: more.py has no hash"),
        (_forget, "one has no list of its files"),
    ],
)
def test_a_changed_package_fails(
    installed: Path, change: Callable[[Path], None], problem: str
) -> None:
    change(installed)
    found = check_hashes([a_pin()], [a_pin()], installed)
    assert found.state is State.FAILED
    assert problem in found.problems


@pytest.mark.parametrize(
    ("lock", "problem"),
    [
        ([], "one 1.0 is installed and not in the lock"),
        ([a_pin(version="1.1")], "one 1.0 is installed, 1.1 is in the lock"),
        ([a_pin(), a_pin("two")], "two 1.0 is not installed"),
    ],
)
def test_other_packages_than_those_of_the_lock_fail(
    installed: Path, lock: list[Pinned], problem: str
) -> None:
    found = check_hashes(lock, lock, installed)
    assert found.state is State.FAILED
    assert problem in found.problems


@pytest.mark.parametrize("hashes", [(), ("md5:abc",), (*HASHES, "sha256:abc")])
def test_a_pin_without_a_good_hash_fails(installed: Path, hashes: tuple[str, ...]) -> None:
    found = check_hashes([a_pin(hashes=hashes)], [a_pin()], installed)
    assert found.problems == ("one 1.0 (dev.txt) is not pinned by SHA-256",)


def test_an_empty_environment_fails(tmp_path: Path) -> None:
    assert check_hashes([a_pin()], [], tmp_path).problems == ("no file was compared",)
