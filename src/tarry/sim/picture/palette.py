"""Colours and strokes that stay apart for the colour-blind, and in grey.

The colours are those of Okabe and Ito, without their yellow: on white paper nobody sees it.
"""

from typing import NamedTuple

COLOURS = (
    "#0072B2",  # blue
    "#D55E00",  # vermilion
    "#009E73",  # bluish green
    "#E69F00",  # orange
    "#CC79A7",  # reddish purple
    "#56B4E9",  # sky blue
    "#000000",
    "#808080",
)
DASHES = (
    (),
    (6.0, 1.6),
    (1.6, 1.4),
    (6.0, 1.6, 1.4, 1.6),
    (10.0, 2.0),
    (3.0, 1.2),
    (10.0, 1.6, 3.0, 1.6, 3.0, 1.6),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

INK = "#1f2328"
"""Words and frames."""

FAINT = "#6b7178"
"""What stands behind: lines to compare with, notes."""

GRID = "#e3e6e9"

SHADE = "#ececec"
"""Where the service is down."""


class Stroke(NamedTuple):
    """How the line of one policy looks; no two of the first 56 look alike, even in grey."""

    colour: str
    dashes: tuple[float, ...]
    marker: str


def stroke(number: int) -> Stroke:
    """The stroke of the policy with this number, counted from 0."""
    return Stroke(
        COLOURS[number % len(COLOURS)],
        DASHES[number % len(DASHES)],
        MARKERS[number % len(MARKERS)],
    )
