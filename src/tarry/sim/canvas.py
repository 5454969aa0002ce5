"""Paper to draw on: pictures under each other on one sheet, written as SVG or PNG.

Every sheet is a figure of its own; the state that pyplot keeps for a whole program is not touched.
The same pictures give the same bytes.
"""

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Literal, NamedTuple

import matplotlib.style
from matplotlib.figure import Figure, FigureBase

from tarry.sim.palette import FAINT, GRID, INK

WIDTH = 9.0
"""The width of every sheet, in inches."""

GAP = 0.2
"""Between two pictures on a sheet, in inches."""

MARGIN = 0.08
"""Around every part of a sheet, in inches."""

DOTS = 150
"""Of a PNG, per inch."""

STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9.0,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "figure.titlesize": 12.0,
    "figure.titleweight": "bold",
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "svg.fonttype": "none",  # words stay words: they can be found, copied and read aloud
    "svg.hashsalt": "tarry",  # names of parts by what they are, not by chance
    "text.color": INK,
    "text.parse_math": False,  # a $ in the name of a policy is a $
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8.5,
}

Kind = Literal["svg", "png"]
KINDS: dict[str, Kind] = {".svg": "svg", ".png": "png"}
"""Which suffix of a file means which kind of picture."""

UNWRITABLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Kinds of signs that a font has no shape for, or that XML forbids."""

_NAMED = re.compile(r'(\bid="|\burl\(#|\bhref="#)')


class Picture(NamedTuple):
    """Something to draw: its title, what it shows in a sentence, and its height in inches."""

    title: str
    caption: str
    height: float
    draw: Callable[[FigureBase], None]


def save(path: Path, pictures: Sequence[Picture]) -> None:
    """Write pictures under each other into one file, as its suffix says."""
    path.write_bytes(rendered(pictures, kind_of(path)))


def kind_of(path: Path) -> Kind:
    """The kind of picture a file is to hold."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"a picture is a {' or '.join(KINDS)} file, not {path.name!r}")
    return kind


def inline_svg(picture: Picture, prefix: str) -> str:
    """A picture as an element of an HTML page; `prefix` keeps its ids apart from all others."""
    text = rendered([picture], "svg").decode()
    element = text[text.index("<svg") :]
    return _NAMED.sub(rf"\g<1>{prefix}-", element).strip()


def rendered(pictures: Sequence[Picture], kind: Kind) -> bytes:
    """The bytes of a file with these pictures under each other."""
    heights = [picture.height for picture in pictures]
    with _style():
        figure = Figure(figsize=(WIDTH, sum(heights) + GAP * (len(heights) - 1)), dpi=DOTS)
        figure.set_layout_engine("constrained", w_pad=MARGIN, h_pad=MARGIN)
        parts = figure.subfigures(len(pictures), squeeze=False, height_ratios=heights)
        for part, picture in zip(parts[:, 0], pictures, strict=True):
            part.suptitle(picture.title, x=0.01, ha="left")
            picture.draw(part)
        file = BytesIO()
        figure.savefig(file, format=kind, metadata=_undated(kind))
    return file.getvalue()


def short(name: str, longest: int = 40) -> str:
    """A name that fits over a panel, with no sign in it that cannot be written."""
    told = " ".join("".join(map(_writable, name)).split())
    return told if len(told) <= longest else f"{told[: longest - 1].rstrip()}…"


def _writable(sign: str) -> str:
    return " " if unicodedata.category(sign) in UNWRITABLE else sign


def _undated(kind: Kind) -> dict[str, str | None]:
    return {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}


@contextmanager
def _style() -> Iterator[None]:
    """Draw in tarry's style, whatever style the program around likes."""
    with matplotlib.style.context(["default", STYLE]), warnings.catch_warnings():
        # A sign that the font lacks is shown as a box, or by the font of whoever reads the SVG.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        yield
