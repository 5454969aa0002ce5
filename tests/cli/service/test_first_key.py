import asyncio
import stat
import sys
import time
from pathlib import Path

import pytest

from tarry.cli.service.first_key import DAY, hand_over_first_key
from tarry.service import Cut, kinds, open_hooks
from tarry.service.model.key import Key


async def start(path: Path) -> Key:
    """Start on a database; return its only key."""
    async with open_hooks(f"sqlite:///{path}") as hooks:
        await hand_over_first_key(hooks, "http://127.0.0.1:8400")
        (key,) = (await hooks.store.page(kinds.Keys(hooks.environment), Cut())).entries
        return key


def test_a_log_gets_the_name_of_a_file_and_not_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hooks.db.first-key"
    key = asyncio.run(start(tmp_path / "hooks.db"))
    text, said = file.read_text().strip(), capsys.readouterr().err
    assert text.startswith("tarry_")
    assert text not in said
    assert f"in the file {file}" in said
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert key.expires_at is not None
    assert abs(key.expires_at - time.time() - DAY) < 60
    asyncio.run(start(tmp_path / "hooks.db"))
    assert capsys.readouterr().err == ""
    assert file.read_text().strip() == text
    assert [path.name for path in tmp_path.glob("*first-key*")] == [file.name]


def test_a_terminal_gets_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    key = asyncio.run(start(tmp_path / "hooks.db"))
    assert "first key, shown only now: tarry_" in capsys.readouterr().err
    assert key.expires_at is None
    assert not list(tmp_path.glob("*first-key*"))
