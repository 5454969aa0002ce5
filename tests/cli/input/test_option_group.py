import click
from click.testing import CliRunner

from tarry.cli.input.option_group import option_group


def test_options_are_shown_in_the_order_they_are_given() -> None:
    @click.command
    @option_group(click.option("--first"), click.option("--second"))
    def show(first: str, second: str) -> None:
        click.echo(f"{first} {second}")

    assert [option.name for option in show.params] == ["first", "second"]
    assert CliRunner().invoke(show, ["--first", "1", "--second", "2"]).stdout == "1 2\n"
