"""Draw curves in panels: one panel for each policy on shared axes, or all policies in one.

This module knows nothing about models: it draws the curves and names that it gets.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import wrap
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tarry.core.value import Value
from tarry.sim.picture.canvas import MARGIN, Sheet, short
from tarry.sim.picture.palette import FAINT, INK, SHADE, LineStyle, stroke
from tarry.sim.picture.scale import amount, set_scale
from tarry.sim.run import Curve, Floats

PANEL = 1.35
"""The height of a panel, in inches."""

AROUND = 1.35
"""The height of title, legend and time axis together, in inches."""

MOST_NAME_CHARACTERS = {1: 50, 2: 26, 3: 16}
"""The maximum length of a name above a panel, by the number of columns."""

POINTS = 1500
"""How many points of a curve are drawn: more than a sheet has pixels across."""

LOG_FROM = 40.0
"""Use a log scale if the highest line is this many times the lowest peak of a main line."""

ALIKE = 6
"""A unit and a label that share this many first letters say the same."""

DECADES = 5
"""The maximum number of powers of ten on a log scale."""


BESIDE = LineStyle(FAINT, (4.0, 1.5), "")
AGAINST = LineStyle(INK, (1.0, 1.2), "")


class Trace(NamedTuple):
    """One policy's curves by name; its number selects its line style."""

    name: str
    number: int
    curves: Mapping[str, Curve]


class Frame(Value):
    """What panels share: the time span, its label, and when the service is down."""

    start: float
    end: float
    time: str = "Time (seconds)"
    shades: tuple[tuple[float, float], ...] = ()
    shaded: str = "down"


class Lines(Value):
    """Which curve to draw for each policy, a thinner one beside it, and one to compare with.

    `peak` names the curve whose highest point since second 0 is written in the panel.
    """

    main: str
    beside: str = ""
    against: str = ""
    peak: str = ""


def height(count: int) -> float:
    """Return the height of the panels for `count` policies, in inches."""
    rows = -(-count // _columns(count))
    return PANEL * (1.5 if rows == 1 else rows) + AROUND


def each(traces: Sequence[Trace], lines: Lines, frame: Frame, sheet: Sheet) -> None:
    """Draw one panel for each policy, all on the same axes."""
    columns = _columns(len(traces))
    rows = -(-len(traces) // columns)
    panels = sheet.panels(rows, columns)
    for empty, above in zip(panels[len(traces) :], panels[len(traces) - columns :], strict=False):
        empty.set_visible(False)
        above.tick_params(labelbottom=True)
    floor, top, log = _scale(traces, lines, frame)
    if columns == max(MOST_NAME_CHARACTERS) and lines.peak != lines.main:
        lines = lines.replace(peak="")  # there is no room to name the curve
    for axes, trace in zip(panels, traces, strict=False):
        _rule(axes, frame, floor, top, log=log)
        _panel(axes, trace, lines, frame, floor)
        axes.set_title(short(trace.name, MOST_NAME_CHARACTERS[columns]), loc="left")
    several = _first_curve(traces, lines.beside) is not None
    title = wrap(_scaled(_first_curve(traces, lines.main), log=log, several=several), 26 * rows)
    keys = _keys(traces, lines, frame)
    if len(keys) > 1:
        sheet.explain(keys)
    foot, left, head = 0.24, 0.08 + 0.15 * len(title), 0.25 if len(keys) > 1 else 0.0
    sheet.fit(panels, columns, left=left, foot=foot, head=head)
    sheet.write(sheet.width / 2, 0.1, frame.time, ha="center", va="bottom", size=9)
    middle = (sheet.height - head + foot) / 2
    sheet.write(
        *(MARGIN, middle, "\n".join(title)),
        rotation=90,
        ha="left",
        va="center",
        ma="center",
        size=9,
    )


def together(
    traces: Sequence[Trace], main: str, limit: Curve | None, frame: Frame, sheet: Sheet
) -> None:
    """Draw one line for each policy in one panel, with the legend beside it."""
    (axes,) = sheet.panels()
    top = max([*(_peak(trace, main, frame) for trace in traces), 0.0]) or 1.0
    _rule(axes, frame, 0.0, top * 1.06, log=False)
    _draw_thin_line(axes, limit, frame, AGAINST)
    for trace in traces:
        colour, dashes, marker = stroke(trace.number)
        axes.plot(
            *cut(trace.curves.get(main), frame),
            color=colour,
            linewidth=1.8,
            dashes=dashes or (None, None),
            marker=marker,
            markersize=5,
            markevery=(0.03 + 0.013 * trace.number, 0.14),
            label=short(trace.name, 28),
        )
    axes.set_xlabel(frame.time)
    axes.set_ylabel(_scaled(_first_curve(traces, main), log=False, several=False))
    handles = [*axes.get_legend_handles_labels()[0], *_shade_key(frame)]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.02), handlelength=4)
    if not any(_has_curve(trace, main, frame) for trace in traces):
        _write_nothing_to_show(axes)
    sheet.fit([axes])


def cut(curve: Curve | None, frame: Frame) -> tuple[Floats, Floats]:
    """Return the part of a curve within the frame, with fewer points but all its peaks.

    It includes one point beyond the end, so that the line reaches the edge.
    """
    if curve is None:
        return np.empty(0), np.empty(0)
    known = np.isfinite(curve.values) & (curve.seconds >= frame.start)
    seconds, values = curve.seconds[known], curve.values[known]
    beyond = int(np.searchsorted(seconds, frame.end, side="right")) + 1
    seconds, values = seconds[:beyond], values[:beyond]
    if len(seconds) <= POINTS:
        return seconds, values
    return _thinned(seconds, values)


def _thinned(seconds: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Keep the first, the lowest and the highest point of every section, so no spike is lost."""
    edges = np.linspace(0, len(seconds), POINTS // 3 + 1).astype(int)
    kept: list[int] = []
    for start, end in pairwise(edges):
        part = values[start:end]
        kept += sorted({int(start), int(start + part.argmin()), int(start + part.argmax())})
    kept.append(len(seconds) - 1)
    chosen = np.unique(kept)
    return seconds[chosen], values[chosen]


def _columns(count: int) -> int:
    return 1 if count <= 3 else 2 if count <= 10 else 3  # noqa: PLR2004  what fits a sheet


def _has_curve(trace: Trace, name: str, frame: Frame) -> bool:
    return len(cut(trace.curves.get(name), frame)[0]) > 0


def _peak(trace: Trace, name: str, frame: Frame) -> float:
    values = cut(trace.curves.get(name), frame)[1]
    return float(values.max()) if len(values) else 0.0


def _scale(traces: Sequence[Trace], lines: Lines, frame: Frame) -> tuple[float, float, bool]:
    """Return where the axis begins and ends, and whether it needs a log scale."""
    peaks = (_peak(trace, lines.main, frame) for trace in traces)
    names = (lines.main, lines.beside, lines.against)
    top = max((_peak(trace, name, frame) for trace in traces for name in names), default=0.0)
    if top <= 0:
        return 0.0, 1.0, False
    least = min((peak for peak in peaks if peak > 0), default=top)
    if top <= LOG_FROM * least:
        return 0.0, top * 1.12, False
    return max(least / 50, top / 10**DECADES), top * 2, True


def _rule(axes: Axes, frame: Frame, floor: float, top: float, *, log: bool) -> None:
    """Set up the axes, and shade the time when the service is down."""
    for start, end in frame.shades:
        if end > frame.start and start < frame.end:
            axes.axvspan(
                max(start, frame.start), min(end, frame.end), color=SHADE, linewidth=0, zorder=0
            )
    axes.set_xlim(frame.start, frame.end)
    set_scale(axes, floor, top, log=log)


def _panel(axes: Axes, trace: Trace, lines: Lines, frame: Frame, floor: float) -> None:
    """Draw one policy's curve, with the curves beside it."""
    if not _has_curve(trace, lines.main, frame):
        _write_nothing_to_show(axes)
        return
    colour = stroke(trace.number).colour
    _draw_thin_line(axes, trace.curves.get(lines.beside), frame, BESIDE)
    seconds, values = cut(trace.curves[lines.main], frame)
    values = np.maximum(values, floor)  # a log scale has no 0: draw it at the bottom
    axes.fill_between(seconds, floor, values, color=colour, alpha=0.22, lw=0)
    axes.plot(seconds, values, color=colour, linewidth=1.3)
    _draw_thin_line(axes, trace.curves.get(lines.against), frame, AGAINST)
    if lines.peak:
        peak = _peak_text(trace, lines, frame)
        axes.set_title(peak, loc="right", fontsize=8.5, color=FAINT)


def _peak_text(trace: Trace, lines: Lines, frame: Frame) -> str:
    """Return the peak of a curve as text; empty if there is no curve."""
    curve = trace.curves.get(lines.peak)
    _, values = cut(curve, frame.replace(start=max(0.0, frame.start)))
    if curve is None or not len(values):
        return ""
    what = "" if lines.peak == lines.main else f"{lines.peak}: "
    unit = _unit(curve).removeprefix(curve.label)
    return f"{what}peak {amount(values.max())} {unit.strip()}".rstrip()


def _draw_thin_line(axes: Axes, curve: Curve | None, frame: Frame, look: LineStyle) -> None:
    """Draw a thin line."""
    if curve is not None:
        axes.plot(
            *cut(curve, frame),
            color=look.colour,
            linewidth=1.2,
            dashes=look.dashes,
            label=_sentence(curve.label),
        )


def _write_nothing_to_show(axes: Axes) -> None:
    """Write that there is nothing to show."""
    axes.text(
        *(0.5, 0.5, "nothing to show"),
        transform=axes.transAxes,
        ha="center",
        va="center",
        color=FAINT,
    )


def _keys(traces: Sequence[Trace], lines: Lines, frame: Frame) -> list[Line2D | Patch]:
    """Return the entries of the shared legend: the lines by their labels, and the shading."""
    looks = {lines.main: LineStyle(INK, (), ""), lines.beside: BESIDE, lines.against: AGAINST}
    keys = [(_first_curve(traces, name), look) for name, look in looks.items()]
    drawn = [
        Line2D([], [], color=look.colour, linestyle=(0, look.dashes), label=_sentence(curve.label))
        for curve, look in keys
        if curve
    ]
    return [*drawn, *_shade_key(frame)]


def _shade_key(frame: Frame) -> list[Patch]:
    return [Patch(color=SHADE, label=_sentence(frame.shaded))] if frame.shades else []


def _first_curve(traces: Sequence[Trace], name: str) -> Curve | None:
    return next((trace.curves[name] for trace in traces if name in trace.curves), None)


def _scaled(curve: Curve | None, *, log: bool, several: bool) -> str:
    """Return an axis label: the quantity if there is only one, the unit, and the scale."""
    if curve is None:
        return ""
    unit = _unit(curve)
    twice = unit[:ALIKE] == curve.label[:ALIKE]
    parts = [unit] if several or twice else [curve.label, unit]
    scale = " (log scale)" if log else ""
    return _sentence(", ".join(filter(None, parts))) + scale


def _unit(curve: Curve) -> str:
    return "per second" if curve.unit == "1/s" else curve.unit


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
