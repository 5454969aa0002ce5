"""Somebody reads the log of a server that started on a new database: no key is in it."""

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.log_lines import next_line


@pytest.mark.parametrize("command", ["serve", "api"])
def test_the_log_of_a_first_start_has_no_key(tmp_path: Path, command: str) -> None:
    typed = [sys.executable, "-m", "tarry.cli", command, "--listen", "127.0.0.1:0"]
    typed += ["--db", f"sqlite:///{tmp_path / 'hooks.db'}"]
    lines: list[str] = []
    with subprocess.Popen(typed, stderr=subprocess.PIPE, text=True, umask=0) as process:
        assert process.stderr
        try:
            lines = [next_line(process.stderr) for _ in range(5)]
        finally:
            process.send_signal(signal.SIGTERM)
            log = "".join(lines) + (process.stderr.read() or "")
    file = tmp_path / "hooks.db.first-key"
    assert file.read_text().startswith("tarry_")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().strip() not in log
    assert f"first key, valid for a day: in the file {file}" in log
