"""`tarry seal`: new keys, and everything sealed with the newest."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tarry.cli.service.seal import seal
from tarry.service import open_hooks
from tarry.service.build import KEYS
from tarry.service.store.kinds import Endpoints
from tarry.service.wire.seal import Seals, generate_key


def test_a_new_key_can_be_used_and_has_a_name() -> None:
    made = CliRunner().invoke(seal, ["new", "--name", "spring"])
    assert made.exit_code == 0, made.stderr
    assert made.stdout.startswith("spring")
    Seals.of(made.stdout.strip())
    assert CliRunner().invoke(seal, ["new"]).stdout.startswith("key-")
    told = CliRunner().invoke(seal, ["new", "--json"]).stdout
    assert json.loads(told)["key"].startswith("key-")


def test_rotate_seals_everything_with_the_newest_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'hooks.db'}"
    old, new = generate_key("old"), generate_key("new")

    async def fill() -> str:
        async with open_hooks(url, sealing_keys=old) as hooks:
            shop = await hooks.application("shop")
            return hooks.secret(await hooks.add_endpoint(shop, "https://example.com", uid="end"))

    async def secret() -> str:
        async with open_hooks(url, sealing_keys=new) as hooks:
            shop = await hooks.application("shop")
            return hooks.secret(await hooks.store.get(Endpoints(shop.id), "end"))

    before = asyncio.run(fill())
    monkeypatch.setenv(KEYS, f"{new},{old}")
    rotated = CliRunner().invoke(seal, ["rotate", "--db", url])
    assert (rotated.exit_code, rotated.stdout) == (0, "sealed again: 1 endpoints\n")
    assert asyncio.run(secret()) == before


def test_rotate_without_the_old_key_is_one_line_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'hooks.db'}"

    async def fill() -> None:
        async with open_hooks(url) as hooks:
            await hooks.add_endpoint(await hooks.application("shop"), "https://example.com")

    asyncio.run(fill())
    monkeypatch.setenv(KEYS, generate_key("another"))
    refused = CliRunner().invoke(seal, ["rotate", "--db", url])
    assert refused.exit_code == 2
    assert refused.stderr.count("\n") == 1
