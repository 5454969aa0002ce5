from pathlib import Path

from tarry.cli import exit_codes
from tarry.cli.client.client import NoServer, ServerRefused
from tarry.cli.service.options import NoDatabase, WrongSettings

REFERENCE = Path(__file__).parents[2] / "docs/reference/cli.md"


def test_the_reference_tells_of_every_code() -> None:
    codes = {code for code in vars(exit_codes).values() if isinstance(code, int)}
    told = REFERENCE.read_text()
    assert [code for code in codes if f"\n| {code} | " not in told] == []


def test_errors_end_as_they_are_said_to() -> None:
    assert ServerRefused.exit_code == exit_codes.FAILED
    assert WrongSettings.exit_code == exit_codes.WRONG
    assert NoServer.exit_code == NoDatabase.exit_code == exit_codes.UNUSABLE
