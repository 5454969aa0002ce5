"""The pictures of the docs are what the simulator draws today, or were measured, or taken."""

import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.browser.pictures import PICTURES
from tests.project_files import project_files

DOCS = Path(__file__).parents[2] / "docs"
MEASURED = {"recovery.svg"}  # ./dev bench recovery --picture docs/pictures/recovery.svg
MOST_BYTES = 100_000


def words(path: Path) -> list[str]:
    tree = ET.parse(path)  # noqa: S314  our own file
    return [element.text or "" for element in tree.iter() if element.tag.endswith("}text")]


@pytest.mark.slow
def test_every_picture_of_the_docs_is_drawn_by_the_script_and_up_to_date(tmp_path: Path) -> None:
    drawn: list[Path] = runpy.run_path(str(DOCS / "draw.py"))["draw"](tmp_path)
    kept = {path.name for path in project_files("docs/pictures")}
    assert {path.name for path in drawn} == kept - MEASURED - set(PICTURES)
    for path in drawn:
        assert words(path) == words(DOCS / "pictures" / path.name), path.name


def test_the_pictures_of_the_dashboard_are_there_small_and_shown() -> None:
    pages = [DOCS.parent / "README.md", DOCS / "howto" / "use-the-dashboard.md"]
    for name in PICTURES:
        path = DOCS / "pictures" / name
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < MOST_BYTES
        assert any(f"pictures/{name}" in page.read_text() for page in pages)
