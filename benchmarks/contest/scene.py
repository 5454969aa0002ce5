"""Where and when it was measured, and what is going on meanwhile."""

import platform
import sys
from datetime import UTC, datetime
from pathlib import Path


def scene() -> dict[str, str]:
    """The date, the Python and the machine."""
    return {
        "date": datetime.now(UTC).isoformat(sep=" ", timespec="minutes"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "machine": f"{platform.system()} {platform.machine()}, {processor()}",
    }


def processor() -> str:
    """The processor's name for itself, where it has one."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "processor unknown")


def show_progress(text: str) -> None:
    """Keep one line on stderr up to date, if someone is looking."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
