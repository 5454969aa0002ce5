import json

from click.testing import CliRunner

from tarry.cli.commands import tarry
from tarry.service.api.open import written


def test_the_document_is_printed_as_it_is_served() -> None:
    told = CliRunner().invoke(tarry, ["openapi"])
    assert told.exit_code == 0
    assert json.loads(told.stdout) == json.loads(json.dumps(written()))
    assert "/api/v1/app/{app_id}/msg" in told.stdout
