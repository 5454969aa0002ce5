from pathlib import Path

import pytest

from tarry.errors import SettingsError
from tarry.service.wire.private_file import refuse_exposed


def test_the_error_names_the_file_its_mode_and_what_would_do(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch()
    path.chmod(0o640)
    with pytest.raises(SettingsError) as refused:
        refuse_exposed("key file", path, path.stat().st_mode)
    wanted = f"it must be closed to other users and groups: chmod 600 {path}"
    assert str(refused.value) == f"'key file' is '{path} (mode 0640)'; {wanted}"


def test_a_file_of_its_owner_passes_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch()
    path.chmod(0o400)
    refuse_exposed("key file", path, path.stat().st_mode)
