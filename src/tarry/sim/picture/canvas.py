"""Draw pictures below each other on one sheet, and write it as SVG or PNG.

Every sheet is a figure of its own. The global state of pyplot is not touched. The same pictures
give the same bytes.
"""

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib.style
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tarry.sim.picture.palette import FAINT, GRID, INK

WIDTH = 9.0
"""The width of every sheet, in inches."""

GAP = 0.2
"""The gap between two pictures on a sheet, in inches."""

TITLE = 0.35
"""The height of the title above a picture, in inches."""

MARGIN = 0.1
"""The margin at the edges of a sheet, in inches."""

BETWEEN = 0.1
"""The gap between two rows of panels, in inches."""

DOTS = 150
"""The resolution of a PNG, in dots per inch."""

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
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "svg.fonttype": "none",  # keep text as text, to search, copy and read aloud
    "svg.hashsalt": "tarry",  # ids depend on the content, not on random numbers
    "text.color": INK,
    "text.parse_math": False,  # a $ in the name of a policy is only a $
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8.5,
}

Kind = Literal["svg", "png"]
FORMAT_OF_SUFFIX: dict[str, Kind] = {".svg": "svg", ".png": "png"}
"""The file format for each suffix."""

UNWRITABLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories of characters that no font can draw, or that XML forbids."""

_XML_ONLY = re.compile(r'<metadata>.*?</metadata>\s*| xmlns(?::\w+)?="[^"]*"', re.DOTALL)
_NAMED = re.compile(r'(\bid="|\burl\(#|\bhref="#)')


class Sheet:
    """The part of a figure for one picture, from `bottom` to `top` in inches.

    Positions are computed from the sizes of the texts. matplotlib's own layout engine is not used:
    its results differ in the last digit from call to call.
    """

    def __init__(self, figure: Figure, bottom: float, top: float) -> None:
        self.figure = figure
        self._bottom, self._top = bottom, top

    def panels(self, rows: int = 1, columns: int = 1) -> list[Axes]:
        """Return panels with shared axes, row by row."""
        grid = self.figure.add_gridspec(rows, columns)
        return list(grid.subplots(sharex=True, sharey=True, squeeze=False).flat)

    def fit(
        self,
        panels: Sequence[Axes],
        columns: int = 1,
        *,
        left: float = 0.0,
        foot: float = 0.0,
        head: float = 0.0,
    ) -> None:
        """Let the panels with their labels fill the sheet, except for margins in inches."""
        rows = len(panels) // columns
        for _ in range(2):  # a new size may change the numbers beside the axes, so repeat
            around = np.array([_overhang(axes) for axes in panels]).reshape(rows, columns, 4)
            before, after = around[..., 0].max(axis=0), around[..., 1].max(axis=0)
            under, over = around[..., 2].max(axis=1), around[..., 3].max(axis=1)
            wide = self.width - left - 2 * MARGIN - before.sum() - after.sum() - GAP * (columns - 1)
            high = self.height - foot - head - MARGIN - under.sum() - over.sum()
            size = wide / columns / self.width, high / rows / self.figure.get_figheight()
            for place, axes in enumerate(panels):
                row, column = divmod(place, columns)
                x = (
                    before[: column + 1].sum()
                    + after[:column].sum()
                    + column * (wide / columns + GAP)
                )
                y = under[row:].sum() + over[row + 1 :].sum() + (rows - 1 - row) * high / rows
                axes.set_position((*self._position(MARGIN + left + x, foot + y), *size))

    def write(self, x: float, y: float, words: str, **look: Any) -> None:  # noqa: ANN401  matplotlib's arguments
        """Write at a position of the sheet, in inches from its lower left corner."""
        self.figure.text(*self._position(x, y), words, **look)

    def explain(self, handles: Sequence[Artist]) -> None:
        """Put a legend at the top of the sheet."""
        self.figure.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=self._position(MARGIN, self.height),
            ncols=len(handles),
            borderaxespad=0,
            borderpad=0.2,
        )

    @property
    def height(self) -> float:
        """The height in inches."""
        return self._top - self._bottom

    @property
    def width(self) -> float:
        """The width in inches."""
        return self.figure.get_figwidth()

    def _position(self, x: float, y: float) -> tuple[float, float]:
        return x / self.width, (self._bottom + y) / self.figure.get_figheight()


class Picture(NamedTuple):
    """Something to draw, with its title, a sentence that describes it, and its height in inches."""

    title: str
    caption: str
    height: float
    draw: Callable[[Sheet], None]


def save(path: Path, pictures: Sequence[Picture]) -> None:
    """Write pictures below each other into one file; the suffix decides the format."""
    path.write_bytes(rendered(pictures, kind_of(path)))


def kind_of(path: Path) -> Kind:
    """Return the file format of a path."""
    kind = FORMAT_OF_SUFFIX.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"a picture is a {' or '.join(FORMAT_OF_SUFFIX)} file, not {path.name!r}")
    return kind


def inline_svg(picture: Picture, prefix: str) -> str:
    """Return a picture as an element of an HTML page; `prefix` keeps its ids unique there."""
    text = rendered([picture], "svg").decode()
    element = _XML_ONLY.sub("", text[text.index("<svg") :]).replace("xlink:href", "href")
    return _NAMED.sub(rf"\g<1>{prefix}-", element).strip()


def rendered(pictures: Sequence[Picture], kind: Kind) -> bytes:
    """Return the bytes of a file with these pictures below each other."""
    whole = sum(picture.height for picture in pictures) + GAP * (len(pictures) - 1)
    with _style():
        figure = Figure(figsize=(WIDTH, whole), dpi=DOTS)
        top = whole
        for picture in pictures:
            bottom = top - picture.height
            title = Sheet(figure, top - TITLE, top)
            title.write(MARGIN, TITLE / 2, picture.title, va="center", size=12, weight="bold")
            picture.draw(Sheet(figure, bottom, top - TITLE))
            top = bottom - GAP
        file = BytesIO()
        figure.savefig(file, format=kind, metadata=_undated(kind))
    return file.getvalue()


def short(name: str, longest: int = 40) -> str:
    """Shorten a name to fit above a panel, and replace characters that cannot be drawn."""
    text = " ".join("".join(map(_printable, name)).split())
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _overhang(axes: Axes) -> tuple[float, float, float, float]:
    """Return how far the labels of a panel extend left, right, below and above it, in inches."""
    words, frame = axes.get_tightbbox(), axes.get_window_extent()
    if words is None:  # it is not shown
        return 0.0, 0.0, 0.0, 0.0
    sides = frame.x0 - words.x0, words.x1 - frame.x1, frame.y0 - words.y0, words.y1 - frame.y1
    left, right, under, over = (max(0.0, dots) / axes.figure.dpi for dots in sides)
    return left, right, under + BETWEEN, over


def _printable(sign: str) -> str:
    return " " if unicodedata.category(sign) in UNWRITABLE else sign


def _undated(kind: Kind) -> dict[str, str | None]:
    return {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}


@contextmanager
def _style() -> Iterator[None]:
    """Draw in tarry's style, whatever style the calling program has set."""
    with matplotlib.style.context(["default", STYLE]), warnings.catch_warnings():
        # A glyph that the font lacks is shown as a box, or by the reader's font in an SVG.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        yield
