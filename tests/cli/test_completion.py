import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tarry.cli.commands import tarry


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_says_how_to_use_it(shell: str) -> None:
    told = CliRunner().invoke(tarry, ["completion", shell])
    assert told.exit_code == 0
    first, *rest = told.stdout.splitlines()
    assert first.startswith("# To use it: ")
    assert f"tarry completion {shell}" in first
    assert any(f"_TARRY_COMPLETE={shell}_complete" in line for line in rest)


def test_bash_takes_it() -> None:
    bash = shutil.which("bash")
    assert bash
    script = CliRunner().invoke(tarry, ["completion", "bash"]).stdout
    ended = subprocess.run(
        [bash, "--noprofile", "--norc"], input=script, capture_output=True, text=True, check=True
    )
    assert ended.stderr == ""


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("tarry endp", "plain,endpoint\n"),
        ("tarry endpoint create --ev", "plain,--event-type\n"),
        ("tarry key create --scope wr", "plain,write\n"),
        ("tarry storm run metastable-s", "plain,metastable-slowdown\n"),
        ("tarry storm show my", "file,my\n"),
        ("tarry explain p", "file,p\n"),
    ],
)
def test_what_it_asks_for_is_answered(typed: str, answer: str) -> None:
    last = str(typed.count(" "))
    asked = {"COMP_WORDS": typed, "COMP_CWORD": last, "_TARRY_COMPLETE": "bash_complete"}
    ended = subprocess.run(
        [sys.executable, "-m", "tarry.cli"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout == answer


def test_another_shell_is_refused() -> None:
    assert CliRunner().invoke(tarry, ["completion", "tcsh"]).exit_code == 2
