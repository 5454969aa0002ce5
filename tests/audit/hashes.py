"""Is what is installed what the lock says, file by file?

pip compares each package with the hashes of the lock when it installs it. This check finds what
changed since: other versions, packages beside the lock, and files that differ from the list of
hashes that came with their package.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.utils import canonicalize_name

from tests.audit.check import Result, result
from tests.audit.locks import HASH, Pinned

BESIDE_THE_LOCK = frozenset({"pip", "setuptools", "tarry"})
"""tarry itself is installed from its checkout; the other two come with Python's venv."""
WITHOUT_HASH = ("RECORD", "RECORD.jws", "RECORD.p7s", "direct_url.json", "INSTALLER", "REQUESTED")


def check_hashes(
    locked: Sequence[Pinned], installed: Sequence[Pinned], folder: Path | None = None
) -> Result:
    """Check all locks, and the packages installed in a folder against those of its lock."""
    where = None if folder is None else [str(folder)]
    found = list(distributions() if where is None else distributions(path=where))
    problems = [
        f"{package.name} {package.version} ({package.lock}) is not pinned by SHA-256"
        for package in locked
        if not package.hashes or not all(map(HASH.fullmatch, package.hashes))
    ]
    problems += _other_versions(installed, found)
    files = 0
    for distribution in found:
        count, wrong = changed_files(distribution)
        files += count
        problems += wrong
    summary = f"{len(locked)} pins, {len(found)} installed packages, {files} files"
    if not files:
        problems.append("no file was compared")
    return result(summary, problems)


def _other_versions(locked: Iterable[Pinned], found: Iterable[Distribution]) -> list[str]:
    """Compare names and versions."""
    wanted = {package.name: package.version for package in locked if package.is_for_this_machine}
    here = {canonicalize_name(one.metadata["Name"]): one.version for one in found}
    problems = [
        f"{name} {version} is installed and not in the lock"
        for name, version in here.items()
        if name not in wanted and name not in BESIDE_THE_LOCK
    ]
    problems += [f"{name} {wanted[name]} is not installed" for name in wanted.keys() - here.keys()]
    problems += [
        f"{name} {here[name]} is installed, {version} is in the lock"
        for name, version in wanted.items()
        if here.get(name, version) != version
    ]
    return sorted(problems)


def changed_files(distribution: Distribution) -> tuple[int, list[str]]:
    """Compare the files of a package with its list; return their number and what is wrong."""
    name, count, problems = distribution.metadata["Name"], 0, []
    listed = distribution.files
    if listed is None:
        return 0, [f"{name} has no list of its files"]
    for file in listed:
        if file.hash is None:
            if file.name not in WITHOUT_HASH and file.suffix != ".pyc":
                problems.append(f"{name}: {file} has no hash")
            continue
        count += 1
        path = Path(str(distribution.locate_file(file)))
        try:
            digest = hashlib.new(file.hash.mode, path.read_bytes()).digest()
        except FileNotFoundError:
            problems.append(f"{name}: {file} is missing")
            continue
        if urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            problems.append(f"{name}: {file} was changed after it was installed")
    return count, problems
