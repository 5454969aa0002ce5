"""The packages that the lock files pin."""

import re
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker
from packaging.utils import NormalizedName, canonicalize_name

from tests.project_files import ROOT

FOLDER = ROOT / "requirements"
HASH = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Pinned:
    """One package of a lock. `marker` says on which machines it is installed."""

    name: NormalizedName
    version: str
    marker: str | None
    hashes: tuple[str, ...]
    lock: str

    @property
    def is_for_this_machine(self) -> bool:
        """Whether the lock installs it here."""
        return self.marker is None or Marker(self.marker).evaluate()


def pinned(lock: Path) -> list[Pinned]:
    """Read a lock; ValueError for a line that pins no version."""
    text = re.sub(r"^\s*#.*\n", "", lock.read_text(), flags=re.MULTILINE).replace("\\\n", "")
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        requirement, *hashes = re.split(r"\s+--hash=", line)
        name_and_version, _, marker = requirement.partition(";")
        name, pins, version = name_and_version.strip().partition("==")
        if not pins:
            raise ValueError(f"{lock.name}: {line[:60]!r} names no version")
        found.append(
            Pinned(
                canonicalize_name(name),
                version.strip(),
                marker.strip() or None,
                tuple(one.strip() for one in hashes),
                lock.name,
            )
        )
    return found


def all_pinned(folder: Path = FOLDER) -> list[Pinned]:
    """Read all locks of a folder."""
    return [package for lock in sorted(folder.glob("*.txt")) for package in pinned(lock)]
