"""Types commands that ask a server, for the tests of them."""

import json
from typing import Any

from click.testing import CliRunner, Result

from tarry.cli.commands import tarry
from tarry.testing.receiver import Receiver

KEY = "let-me-in"


class Shell:
    """Types commands, with what says where the server is in the environment."""

    def __init__(self, url: str, db: str, receiver: Receiver) -> None:
        self.url, self.db, self.receiver = url, db, receiver
        self.variables: dict[str, str | None] = {"TARRY_SERVER": url, "TARRY_KEY": KEY}

    def run(self, *typed: str, given: str | bytes | None = None) -> Result:
        """How a command ends."""
        return CliRunner().invoke(tarry, typed, env=self.variables, input=given)

    def out(self, *typed: str, given: str | bytes | None = None) -> str:
        """What a command prints that ends well."""
        ended = self.run(*typed, given=given)
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    def json(self, *typed: str, given: str | bytes | None = None) -> Any:  # noqa: ANN401  JSON
        """The thing that a command prints."""
        return json.loads(self.out(*typed, "--json", given=given))

    def lines(self, *typed: str) -> list[Any]:
        """The list that a command prints."""
        return [json.loads(line) for line in self.out(*typed, "--json").splitlines()]

    def wrong(self, *typed: str, given: str | bytes | None = None) -> tuple[int, str]:
        """How a command ends that cannot do it, and its last words."""
        ended = self.run(*typed, given=given)
        return ended.exit_code, ended.stderr.splitlines()[-1]
