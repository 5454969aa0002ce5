"""How much memory an attack may add to a server: the figure that SECURITY.md states."""

import re

from tests.project_files import ROOT

_STATED = re.compile(r"adds at most (\d+) MB of memory to a process of the service")


def stated() -> int:
    """Return the bytes that SECURITY.md states."""
    (megabytes,) = _STATED.findall(" ".join((ROOT / "SECURITY.md").read_text().split()))
    return int(megabytes) * 1_000_000


MOST_GROWTH = stated()
