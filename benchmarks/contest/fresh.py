"""What an import costs: measured by fresh interpreters themselves, each module in turn."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from contest.stopwatch import Progress

HEAVY = ("asyncio", "ssl", "socket")
IMPORT_AND_TELL = """
import sys, time, os
def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
resident()
known, size, started = len(sys.modules), resident(), time.process_time_ns()
__import__(sys.argv[1])
took = time.process_time_ns() - started
grown, modules = resident() - size, len(sys.modules) - known
import json
print(json.dumps([took, grown, modules, list(sys.modules)]))
"""


@dataclass(frozen=True)
class Import:
    """What importing a module took and brought with it."""

    cpu_ns: int
    resident: int
    modules: int
    heavy: tuple[str, ...]

    def least(self, other: "Import") -> "Import":
        """The lesser of two measurements of one module, figure by figure."""
        cpu_ns, resident = min(self.cpu_ns, other.cpu_ns), min(self.resident, other.resident)
        return Import(cpu_ns, resident, self.modules, self.heavy)


def imports(modules: Sequence[str], runs: int, progress: Progress) -> dict[str, Import | str]:
    """The least each import ever took; for a module that cannot be imported, why."""
    found: dict[str, list[Import]] = {}
    failed: dict[str, str] = {}
    for module in modules:  # once for nothing: the bytecode is on the disk from here on
        first = import_once(module)
        if isinstance(first, str):
            failed[module] = first
        else:
            found[module] = []
    for number in range(1, runs + 1):
        progress(f"importing {len(found)} modules, run {number} of {runs}")
        for module, seen in found.items():
            again = import_once(module)
            if isinstance(again, Import):
                seen.append(again)
    return failed | {module: reduce(Import.least, seen) for module, seen in found.items()}


def import_once(module: str) -> Import | str:
    """One import in an interpreter of its own, or the reason why it failed."""
    unwanted = {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONPROFILEIMPORTTIME"}
    result = subprocess.run(  # noqa: S603  this very Python
        # -P: what lies in the current folder is not looked at
        [sys.executable, "-P", "-c", IMPORT_AND_TELL, module],
        env={name: value for name, value in os.environ.items() if name not in unwanted},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        reason = result.stderr.strip().splitlines()[-1] if result.stderr else "import failed"
        return "not installed" if reason.startswith("ModuleNotFoundError") else reason
    cpu_ns, resident, count, loaded = json.loads(result.stdout)
    heavy = tuple(name for name in HEAVY if name in loaded)
    return Import(cpu_ns, resident, count, heavy)
