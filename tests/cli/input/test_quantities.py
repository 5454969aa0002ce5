import click
import pytest
from click.testing import CliRunner

from tarry.cli.input.quantities import seconds, share


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("2s", 2.0),
        ("2", 2.0),
        ("500ms", 0.5),
        ("1.5 min", 90.0),
        ("2m", 120.0),
        (" 1h ", 3600.0),
        (".5d", 43200.0),
        ("0", 0.0),
        ("3.s", 3.0),
    ],
)
def test_a_duration_is_read_with_its_unit(typed: str, wanted: float) -> None:
    assert seconds(typed) == pytest.approx(wanted)


@pytest.mark.parametrize(
    "typed", ["", "s", "-1s", "1e3", "2 weeks", "2S", "1s 2s", "inf", "٣s", "30%", "9" * 400]
)
def test_what_is_no_duration_is_refused_with_an_example(typed: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        seconds(typed)
    assert refused.value.message == (
        f"{typed!r} is no duration; it must be a number with ms, s, m, min, h, d behind it,"
        " for example 90s or 1.5min"
    )


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("30%", 0.3), ("0.3", 0.3), ("0", 0.0), ("1", 1.0), ("100 %", 1.0), ("0.5%", 0.005)],
)
def test_a_share_is_read_in_either_form(typed: str, wanted: float) -> None:
    assert share(typed) == pytest.approx(wanted)


@pytest.mark.parametrize("typed", ["", "%", "30", "101%", "-1%", "1.1", "a third", "3s"])
def test_what_is_no_share_is_refused(typed: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        share(typed)
    assert refused.value.message == (
        f"{typed!r} is no share; it must be between 0% and 100%, or between 0 and 1"
    )


def test_an_option_of_such_a_type_names_itself() -> None:
    @click.command
    @click.option("--slow", type=seconds, default="1s")
    def command(slow: float) -> None:
        click.echo(slow)

    assert CliRunner().invoke(command, []).output == "1.0\n"
    assert CliRunner().invoke(command, ["--slow", "2min"]).output == "120.0\n"
    refused = CliRunner().invoke(command, ["--slow", "soon"])
    assert refused.exit_code == 2
    assert "Invalid value for '--slow': 'soon' is no duration" in refused.stderr
