"""The wheel holds the whole package and nothing else, and works with nothing else installed."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.project_files import ROOT, project_files


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir"]
    subprocess.run([*build, folder, ROOT], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    sources = {str(path.relative_to(ROOT / "src")) for path in project_files("src/tarry")}
    packed = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {"tarry/py.typed", "tarry/scenarios/brief-blip.toml"} <= packed
    assert packed == sources


def test_the_wheel_works_with_nothing_else_installed(wheel: Path, tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--target"]
    subprocess.run([*install, tmp_path, wheel], check=True, capture_output=True)
    code = "import sys; sys.path.insert(0, sys.argv[1]); import tarry; print(tarry.__file__)"
    bare = [sys.executable, "-I", "-S", "-c", code, str(tmp_path)]
    found = subprocess.run(bare, check=True, capture_output=True, text=True).stdout
    assert Path(found.strip()) == tmp_path / "tarry" / "__init__.py"
