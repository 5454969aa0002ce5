"""Read the CPU time and memory of a process, as Linux counts them."""

import os
from pathlib import Path

_USER, _SYSTEM = 11, 12
"""Indexes of the fields in /proc/PID/stat, counted after the name in brackets."""


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that a process and all its threads have used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int) -> float:
    """Return the private memory that a process uses, in megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
