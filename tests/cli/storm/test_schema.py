from click.testing import CliRunner

from tarry.cli.commands import tarry
from tarry.core.schema import schema_text


def test_the_schema_is_printed_as_published() -> None:
    told = CliRunner().invoke(tarry, ["schema"])
    assert told.exit_code == 0
    assert told.stdout == schema_text()
