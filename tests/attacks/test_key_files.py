"""A member of the group reads a file with keys: such files are not used until they are closed."""

import asyncio
from pathlib import Path

import pytest

from tarry.errors import SettingsError
from tarry.service import open_hooks
from tarry.service.wire import tls
from tarry.testing import zoo

OPEN_MODES = [0o640, 0o660, 0o604, 0o666, 0o610, 0o601]


@pytest.mark.parametrize("mode", OPEN_MODES)
def test_sealing_keys_that_others_can_open_are_refused(tmp_path: Path, mode: int) -> None:
    async def open_once() -> None:
        async with open_hooks(f"sqlite:///{tmp_path / 'hooks.db'}"):
            pass

    asyncio.run(open_once())
    keys = tmp_path / "hooks.db.keys"
    keys.chmod(mode)
    with pytest.raises(SettingsError, match=f"mode {mode:04o}.*chmod 600 {keys}"):
        asyncio.run(open_once())
    keys.chmod(0o600)
    asyncio.run(open_once())


@pytest.mark.parametrize("mode", OPEN_MODES)
def test_a_client_certificate_whose_key_others_can_open_is_refused(
    tmp_path: Path, mode: int
) -> None:
    file = tmp_path / "client.pem"
    file.write_bytes(zoo.authority().pem)
    file.chmod(mode)
    with pytest.raises(SettingsError, match=f"mode {mode:04o}.*chmod 600 {file}"):
        tls.context(certificate=file)
