"""`tarry backup`: a copy that can be opened again."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tarry.cli.service.backup import backup
from tarry.cli.service.migrate import migrate
from tarry.service import open_hooks
from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.store.kinds import Messages


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with one message."""
    url = f"sqlite:///{tmp_path / 'hooks.db'}"

    async def fill() -> None:
        async with open_hooks(url) as hooks:
            await hooks.send(await hooks.application("shop"), "order.paid", {})

    asyncio.run(fill())
    return url


def test_the_copy_has_all_that_the_database_has(url: str, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    made = CliRunner().invoke(backup, ["--db", url, str(target)])
    assert made.exit_code == 0, made.stderr
    assert made.stdout == f"wrote {target}\n"
    again = CliRunner().invoke(backup, ["--db", url, str(target), "--force", "--json"])
    assert json.loads(again.stdout) == {"target": str(target)}

    async def look() -> int:
        async with open_hooks(f"sqlite:///{target}", migrate=False) as hooks:
            shop = await hooks.application("shop")
            return len((await hooks.store.page(Messages(shop.id, MessageFilter()), Cut())).entries)

    assert asyncio.run(look()) == 1


def test_a_file_that_is_there_is_replaced_only_if_told_so(url: str, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    target.write_bytes(b"mine")
    refused = CliRunner().invoke(backup, ["--db", url, str(target)])
    assert (refused.exit_code, target.read_bytes()) == (2, b"mine")
    assert "--force" in refused.stderr
    made = CliRunner().invoke(backup, ["--db", url, "--force", str(target)])
    assert made.exit_code == 0, made.stderr
    assert target.read_bytes().startswith(b"SQLite")


@pytest.mark.parametrize("target", ["hooks.db", "hooks.db.keys"])
def test_the_databases_own_files_are_never_replaced(url: str, tmp_path: Path, target: str) -> None:
    before = (tmp_path / target).read_bytes()
    refused = CliRunner().invoke(backup, ["--db", url, "--force", str(tmp_path / target)])
    assert refused.exit_code == 3
    assert "belongs to the database" in refused.stderr
    assert (tmp_path / target).read_bytes() == before


@pytest.mark.parametrize("target", ["gone/copy.db", "."])
def test_a_target_that_cannot_be_written_is_one_line(url: str, tmp_path: Path, target: str) -> None:
    refused = CliRunner().invoke(backup, ["--db", url, str(tmp_path / target)])
    assert refused.exit_code == 2
    assert "a file in a folder that is there" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    refused = CliRunner().invoke(backup, ["--db", f"sqlite:///{missing}", str(tmp_path / "copy")])
    assert refused.exit_code == 3
    assert not missing.exists()


def test_a_server_has_its_own_tools(database_url: str, tmp_path: Path) -> None:
    CliRunner().invoke(migrate, ["up", "--db", database_url])
    refused = CliRunner().invoke(backup, ["--db", database_url, str(tmp_path / "copy")])
    assert refused.exit_code == 3
    assert "pg_dump" in refused.stderr
