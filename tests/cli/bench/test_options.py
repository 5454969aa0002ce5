import click
from click.testing import CliRunner

from tarry.cli.bench.command import bench
from tarry.cli.bench.options import bench_options


@click.command
@bench_options
def show(*, db: str | None, rounds: int, as_json: bool) -> None:
    click.echo(f"{db} {rounds} {as_json}")


def test_a_new_file_and_three_rounds_are_taken_if_nothing_is_said() -> None:
    assert CliRunner().invoke(show).stdout == "None 3 False\n"
    typed = ["--db", "sqlite:///b.db", "--rounds", "1", "--json"]
    assert CliRunner().invoke(show, typed).stdout == "sqlite:///b.db 1 True\n"
    assert CliRunner().invoke(show, ["--rounds", "0"]).exit_code == 2


def test_every_benchmark_has_them() -> None:
    for command in bench.commands.values():
        assert {"db", "rounds", "as_json"} < {option.name for option in command.params}
