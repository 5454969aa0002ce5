"""Refuse files with keys that other users of the machine can open."""

import stat
from pathlib import Path

from tarry.errors import SettingsError


def refuse_exposed(field: str, path: Path, mode: int) -> None:
    """Raise SettingsError if a file's `st_mode` lets anybody but its owner open it."""
    mode = stat.S_IMODE(mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        wanted = f"closed to other users and groups: chmod 600 {path}"
        raise SettingsError(field, f"{path} (mode {mode:04o})", wanted)
