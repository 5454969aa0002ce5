"""The official JavaScript SDK, as npm has it, on its main journey."""

import shutil
from pathlib import Path

import pytest

from tests import node
from tests.sdk.conftest import KEY

HERE = Path(__file__).parent / "js"


@pytest.fixture(scope="session")
def project() -> Path:
    """A folder with the journey and all that it needs."""
    folder = node.packages(HERE)
    shutil.copy(HERE / "journey.mjs", folder)
    return folder


@pytest.mark.slow
def test_the_javascript_sdk_makes_its_journey(sqlite_server: str, project: Path) -> None:
    env = {"SVIX_TOKEN": KEY, "SVIX_SERVER_URL": sqlite_server}
    code, said = node.run("node", ["journey.mjs"], project, **env)
    assert (code, said) == (0, "all well\n"), said


def test_the_lock_names_no_host() -> None:
    assert "resolved" not in (HERE / "package-lock.json").read_text()
