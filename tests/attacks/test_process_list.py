"""Another user of the machine lists processes: keys from files and standard input do not show."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from tarry.cli.commands import tarry
from tests.cli.log_lines import next_line
from tests.plain_http import PLAIN

KEY = "canary-4f1d9c"


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_a_servers_key_is_not_in_the_list_of_processes(tmp_path: Path, source: str) -> None:
    file = tmp_path / "key"
    file.touch(0o600)
    file.write_text(f"{KEY}\n")
    given = ("--api-key-file", str(file)) if source == "file" else ("--api-key", "-")
    command = [sys.executable, "-m", "tarry.cli", "serve", "--listen", "127.0.0.1:0", *given]
    command += ["--db", f"sqlite:///{tmp_path / 'hooks.db'}"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdin
            assert process.stderr
            process.stdin.write(f"{KEY}\n")
            process.stdin.flush()
            url = next_line(process.stderr).removeprefix("ready: ").partition(",")[0]
            shown = Path(f"/proc/{process.pid}/cmdline").read_text()
            assert "serve" in shown
            assert KEY not in shown
            asked = {"authorization": f"Bearer {KEY}"}
            assert httpx.get(f"{url}/api/v1/app", headers=asked, **PLAIN).status_code == 200
        finally:
            process.kill()


@pytest.mark.parametrize("mode", [0o640, 0o644, 0o604])
@pytest.mark.parametrize("command", [("serve", "--api-key-file"), ("app", "list", "--key-file")])
def test_a_key_in_a_file_that_others_can_open_is_refused(
    tmp_path: Path, mode: int, command: tuple[str, ...]
) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(mode)
    refused = CliRunner().invoke(tarry, [*command, str(file)])
    assert refused.exit_code == 2
    assert f"mode {mode:04o}" in refused.stderr
    assert f"chmod 600 {file}" in refused.stderr
    assert KEY not in refused.output


@pytest.mark.parametrize("command", [("serve",), ("api",), ("app", "list"), ("key", "list")])
def test_the_help_says_that_a_typed_key_shows(command: tuple[str, ...]) -> None:
    shown = " ".join(CliRunner().invoke(tarry, [*command, "--help"]).stdout.split())
    assert "can see it in the list of processes" in shown
