"""The wheel of a folder is built and measured, if the packages for that are installed."""

from pathlib import Path

import pytest

from tests.measure.wheel import wheel_size

SETTINGS = """
[build-system]
requires = []
build-backend = "{backend}"
[project]
name = "example"
version = "1"
[tool.hatch.build.targets.wheel]
packages = ["example"]
"""


def written(folder: Path, backend: str) -> Path:
    (folder / "pyproject.toml").write_text(SETTINGS.format(backend=backend))
    return folder


@pytest.mark.slow
def test_a_wheel_is_measured_and_nothing_is_left_behind(tmp_path: Path) -> None:
    written(tmp_path, "hatchling.build")
    (tmp_path / "example").mkdir()
    (tmp_path / "example/__init__.py").touch()
    assert 500 < (wheel_size(tmp_path) or 0) < 5000
    assert {path.name for path in tmp_path.iterdir()} == {"pyproject.toml", "example"}


@pytest.mark.slow
def test_a_wheel_that_cannot_be_built_has_no_size(tmp_path: Path) -> None:
    settings = written(tmp_path, "hatchling.build") / "pyproject.toml"
    settings.write_text(settings.read_text().replace('version = "1"', 'version = "one"'))
    assert wheel_size(tmp_path) is None


def test_without_the_build_backend_there_is_no_wheel(tmp_path: Path) -> None:
    assert wheel_size(written(tmp_path, "no_such_backend.build")) is None
