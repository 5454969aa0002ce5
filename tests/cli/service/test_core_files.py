"""A service that crashes writes no core file."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ALLOW = (
    "import os, resource as r, signal\n"
    "most = r.getrlimit(r.RLIMIT_CORE)[1]\n"
    "r.setrlimit(r.RLIMIT_CORE, (most, most))\n"
)
PREPARE = "from tarry.cli.service.core_files import write_no_core_files as f; f()\n"
CRASH = "os.kill(os.getpid(), signal.SIGABRT)"


@pytest.mark.parametrize(
    ("program", "is_dumped"), [(ALLOW + CRASH, True), (ALLOW + PREPARE + CRASH, False)]
)
def test_a_process_that_crashes_leaves_no_core_file(
    tmp_path: Path, program: str, *, is_dumped: bool
) -> None:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = -os.WTERMSIG(status)
    assert os.WTERMSIG(status) == signal.SIGABRT
    files = list(tmp_path.iterdir())
    if not is_dumped:
        assert not os.WCOREDUMP(status)
        assert files == []
    elif resource.getrlimit(resource.RLIMIT_CORE)[1] and pattern.strip() == "core":
        assert os.WCOREDUMP(status), "else the other case would show nothing"
        assert len(files) == 1
