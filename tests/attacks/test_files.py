"""Another user of the machine reads the files of the service: none of them is open to others."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tarry.cli.doctor.disk import on_disk
from tarry.cli.doctor.finding import State
from tarry.cli.service.backup import backup
from tarry.service import open_hooks


@pytest.fixture(params=[0o000, 0o022, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set an umask that leaves new files open to others."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Return the mode of each file in a folder."""
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


@pytest.mark.usefixtures("umask")
def test_every_file_of_a_database_and_its_backups_is_open_to_its_owner_only(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'hooks.db'}"

    async def serve_for_a_moment() -> dict[str, int]:
        async with open_hooks(url) as hooks:
            application = await hooks.application("shop")
            async with hooks.dispatching():
                await hooks.send(application, "card.charged", {"card": "4111 1111 1111 1111"})
                await hooks.store.backup(tmp_path / "copy.db")
                return modes(tmp_path)

    while_served = asyncio.run(serve_for_a_moment())
    made = CliRunner().invoke(backup, ["--db", url, str(tmp_path / "second.db")])
    assert made.exit_code == 0, made.stderr
    assert while_served.keys() >= {
        *("hooks.db", "hooks.db-wal", "hooks.db-shm", "hooks.db-dispatcher", "hooks.db.keys"),
        "copy.db",
    }
    found = while_served | modes(tmp_path)
    assert {name: mode for name, mode in found.items() if mode & 0o077} == {}


def test_a_backup_over_a_readable_file_is_private(tmp_path: Path) -> None:
    url, target = f"sqlite:///{tmp_path / 'hooks.db'}", tmp_path / "copy.db"
    target.write_bytes(b"an earlier copy")
    target.chmod(0o644)

    async def create() -> None:
        async with open_hooks(url):
            pass

    asyncio.run(create())
    made = CliRunner().invoke(backup, ["--db", url, "--force", str(target)])
    assert made.exit_code == 0, made.stderr
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o602])
def test_the_doctor_reports_a_database_that_is_open_to_others(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "hooks.db"
    file.write_bytes(bytes(18) + b"\2\2")
    file.chmod(mode)
    [finding] = [finding for finding in on_disk(file, 1) if finding.check == "mode"]
    assert finding.state is State.WRONG
    assert finding.words.endswith(f"chmod 600 {file}")
    file.chmod(0o600)
    [finding] = [finding for finding in on_disk(file, 1) if finding.check == "mode"]
    assert finding.state is State.OK
