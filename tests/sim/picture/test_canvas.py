import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.image import imread

from tarry.sim.picture.canvas import (
    DOTS,
    GAP,
    MARGIN,
    WIDTH,
    Picture,
    Sheet,
    inline_svg,
    rendered,
    save,
    short,
)


def line(sheet: Sheet) -> None:
    (axes,) = sheet.panels()
    axes.plot([0, 1, 2], [0, 1, 0], marker="o", label="costs $5 and $6 漢")
    axes.legend()
    sheet.fit([axes])


PLAIN = Picture("A line", "It goes up and down.", 2.0, line)


def test_a_png_has_the_height_of_all_its_pictures(tmp_path: Path) -> None:
    save(tmp_path / "two.PNG", [PLAIN, PLAIN._replace(height=3.0)])
    high, wide, _ = imread(tmp_path / "two.PNG", format="png").shape
    assert (wide, high) == (WIDTH * DOTS, (5.0 + GAP) * DOTS)


def test_an_svg_keeps_its_words_as_words(tmp_path: Path) -> None:
    save(tmp_path / "plain.svg", [PLAIN])
    root = ET.parse(tmp_path / "plain.svg").getroot()  # noqa: S314  our own file
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "A line" in words
    assert "costs $5 and $6 漢" in words


@pytest.mark.parametrize("name", ["plain.pdf", "plain", "svg"])
def test_only_svg_and_png_are_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"\.svg or \.png file, not '{name}'"):
        save(tmp_path / name, [PLAIN])
    assert not (tmp_path / name).exists()


def test_the_same_picture_gives_the_same_bytes_whatever_style_is_in_force() -> None:
    first = {kind: rendered([PLAIN], kind) for kind in ("svg", "png")}
    with mpl.rc_context({"font.size": 20, "svg.fonttype": "path", "axes.grid": False}):
        again = {kind: rendered([PLAIN], kind) for kind in ("svg", "png")}
    assert again == first
    assert b"<dc:date>" not in first["svg"]


def test_drawing_leaves_the_program_around_as_it_was() -> None:
    settings = [name for name in mpl.rcParams if name != "backend"]  # to ask for it loads pyplot
    before = [mpl.rcParams[name] for name in settings]
    rendered([PLAIN], "png")
    assert [mpl.rcParams[name] for name in settings] == before
    assert "matplotlib.pyplot" not in sys.modules


def test_two_pictures_in_one_page_share_no_id_and_find_their_own_parts() -> None:
    pages = [inline_svg(PLAIN, prefix) for prefix in ("one", "two")]
    ids = [set(re.findall(r'\bid="([^"]+)"', page)) for page in pages]
    assert ids[0]
    assert not ids[0] & ids[1]
    for page, known in zip(pages, ids, strict=True):
        assert page.startswith("<svg")
        assert page.endswith("</svg>")
        used = re.findall(r'(?:url\(|href=")#([^)"]+)', page)
        assert used
        assert set(used) <= known


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 1), (4, 2), (3, 3)])
def test_panels_fill_their_sheet_and_nothing_lies_over_anything(rows: int, columns: int) -> None:
    figure = Figure(figsize=(WIDTH, 8), dpi=100)
    sheet = Sheet(figure, 2.0, 7.0)
    panels = sheet.panels(rows, columns)
    for number, axes in enumerate(panels):
        axes.plot([0, 1_000_000 * number])
        axes.set_title(f"panel {number}")
    sheet.fit(panels, columns, left=0.5, foot=0.3, head=0.2)
    boxes = [box for axes in panels if (box := axes.get_tightbbox())]
    assert len(boxes) == rows * columns
    for number, box in enumerate(boxes):
        assert not [other for other in boxes[number + 1 :] if box.overlaps(other)]
    assert min(box.x0 for box in boxes) / 100 == pytest.approx(MARGIN + 0.5, abs=0.02)
    assert max(box.x1 for box in boxes) / 100 == pytest.approx(WIDTH - MARGIN, abs=0.02)
    assert min(box.y0 for box in boxes) / 100 >= 2.0 + 0.3
    assert max(box.y1 for box in boxes) / 100 == pytest.approx(7.0 - 0.2 - MARGIN, abs=0.02)


@given(st.text(max_size=80), st.integers(2, 60))
def test_a_short_name_is_one_line_that_fits(name: str, longest: int) -> None:
    told = short(name, longest)
    assert len(told) <= longest
    assert told.isprintable()


def test_a_name_that_fits_stays_as_it_is_and_a_long_one_says_that_it_goes_on() -> None:
    assert short("full 1..60") == "full 1..60"
    assert short("a\x00b\u2028c") == "a b c"
    assert short("x" * 41) == "x" * 39 + "…"
