"""Axes with readable numbers, linear or logarithmic."""

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter


def set_scale(axes: Axes, floor: float, top: float, *, log: bool) -> None:
    """Set the range of the value axis, and readable numbers on both axes."""
    if log:
        axes.set_yscale("log", nonpositive="clip")
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(floor, top)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(tick))


def tick(value: float, _place: int | None = None) -> str:
    """Format a number beside an axis.

    >>> tick(12_500.0), tick(0.1 + 0.2)
    ('12,500', '0.3')
    """
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")


def amount(number: float) -> str:
    """Format a number for a sentence: three digits, or all before the decimal point.

    >>> amount(0.12345), amount(12_345.6)
    ('0.123', '12,346')
    """
    text = f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"  # noqa: PLR2004  three digits
    return text.replace("-", "\N{MINUS SIGN}")
