"""`tarry completion`: print the script that makes a shell complete tarry's commands."""

from collections.abc import Mapping

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

SHELLS: Mapping[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}
HOW = {
    "bash": 'eval "$(tarry completion bash)"   # in ~/.bashrc; bash 4.4 or newer',
    "zsh": 'eval "$(tarry completion zsh)"    # in ~/.zshrc',
    "fish": "tarry completion fish > ~/.config/fish/completions/tarry.fish",
}


@click.command(epilog="Exit codes: 0, success; 2, the command line is wrong.")
@click.argument("shell", type=click.Choice(list(HOW)))
def completion(shell: str) -> None:
    """Print a script that completes commands in SHELL.

    It completes options as well. Its first line says how to use it.
    """
    script = SHELLS[shell](click.Group(), {}, "tarry", "_TARRY_COMPLETE").source()
    click.echo(f"# To use it: {HOW[shell]}\n{script}")
