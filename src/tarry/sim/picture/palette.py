"""Colours and line styles that differ for the colour-blind, and in grey.

The colours are those of Okabe and Ito, without their yellow, which is hard to see on white.
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
"""The colour of text and frames."""

FAINT = "#6b7178"
"""The colour of what stays in the background: reference lines and notes."""

GRID = "#e3e6e9"

SHADE = "#ececec"
"""The colour of the time when the service is down."""


class LineStyle(NamedTuple):
    """The style of one policy's line; the first 56 all differ, even in grey."""

    colour: str
    dashes: tuple[float, ...]
    marker: str


def stroke(number: int) -> LineStyle:
    """Return the style of the policy with this number, counted from 0."""
    return LineStyle(
        COLOURS[number % len(COLOURS)],
        DASHES[number % len(DASHES)],
        MARKERS[number % len(MARKERS)],
    )
