"""`import tarry` costs what a small library should: none of the standard library's heavy parts."""

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
HEAVY = (
    "asyncio",
    "concurrent.futures",
    "dataclasses",
    "datetime",
    "email",
    "http",
    "inspect",
    "json",
    "logging",
    "pathlib",
    "socket",
    "ssl",
    "tomllib",
    "typing_extensions",
)
IMPORT_AND_TELL = """
import sys
sys.path.insert(0, sys.argv[1])
import tarry
print(*sys.modules, sep="\\n")
"""


def test_importing_tarry_pulls_in_nothing_heavy_and_nothing_foreign() -> None:
    # isolated and without site-packages: what is not in the standard library cannot be imported
    bare = [sys.executable, "-I", "-S", "-c", IMPORT_AND_TELL, str(SOURCE)]
    loaded = subprocess.run(bare, capture_output=True, text=True, check=True).stdout.split()
    assert "tarry" in loaded
    assert not [name for name in HEAVY if name in loaded]
