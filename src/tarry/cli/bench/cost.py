"""What a process costs: CPU time and memory, as Linux counts them."""

import os
from pathlib import Path

_USER, _SYSTEM = 11, 12
"""Places in /proc/PID/stat, counted behind the name in brackets."""


def cpu_seconds(pid: int) -> float:
    """Seconds of CPU that a process has used so far, with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int) -> float:
    """Memory of a process that is its own and in use."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
