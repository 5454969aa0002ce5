"""The wait envelope: the shortest, typical and longest wait before each attempt of a policy."""

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from tarry.core.explain import Row, schedule
from tarry.core.policy import Policy
from tarry.sim.picture.canvas import Picture, Sheet, short
from tarry.sim.picture.palette import COLOURS, FAINT, INK
from tarry.sim.picture.scale import set_scale

HEIGHT = 3.4
"""The height of the picture, in inches."""

BARS = 60
"""Draw up to this many waits as bars, more of them as one band."""

LOG_FROM = 100.0
"""Use a log scale if the maximum waits before the attempts differ by this factor."""


def envelope(policy: Policy, name: str, attempts: int | None = None) -> Picture:
    """Draw a policy's waits, for as many attempts as `tarry explain` would list."""
    rows = schedule(policy, attempts)
    return Picture(
        f"Wait before each attempt: {short(name)}",
        "The least, the typical and the most wait before each attempt after the first."
        " Typical is with every draw in the middle; attempts take no time here.",
        HEIGHT if rows else HEIGHT / 3,
        partial(_draw, rows),
    )


def _draw(rows: Sequence[Row], sheet: Sheet) -> None:
    """Draw the waits of a policy on a sheet."""
    if not rows:
        sheet.write(
            sheet.width / 2, sheet.height / 2, "one attempt, no wait", ha="center", color=FAINT
        )
        return
    (axes,) = sheet.panels()
    axes.set_xlabel("Attempt (number, the first is 1)")
    floor, top, log = _scale(rows)
    set_scale(axes, floor, top, log=log)
    axes.set_ylabel("Wait (seconds, log scale)" if log else "Wait (seconds)")
    _waits(axes, rows, floor)
    axes.set_xlim(rows[0].attempt - 0.7, rows[-1].attempt + 0.7)
    axes.xaxis.set_major_locator(MaxNLocator(20, integer=True, steps=[1, 2, 5, 10]))
    axes.grid(visible=False, axis="x")
    handles, labels = axes.get_legend_handles_labels()
    top_first = sorted(zip(labels, handles, strict=True), key=lambda key: key[0])
    axes.legend(
        handles=[handle for _, handle in top_first], loc="upper left", bbox_to_anchor=(1.01, 1.02)
    )
    sheet.fit([axes])


def _scale(rows: Sequence[Row]) -> tuple[float, float, bool]:
    """Return the ends of the axis of waits, and whether it is logarithmic."""
    longest = [row.wait.most for row in rows]
    top = max(longest)
    shortest = min((wait for wait in longest if wait > 0), default=top)
    if top <= LOG_FROM * shortest:
        return 0.0, top * 1.08 or 1.0, False
    waits = [wait for row in rows for wait in (row.wait.least, row.wait.typical) if wait > 0]
    return min([*waits, shortest]) / 2, top * 1.5, True


def _waits(axes: Axes, rows: Sequence[Row], floor: float) -> None:
    """Draw the waits before each attempt, as bars or as an area."""
    attempts = [row.attempt for row in rows]
    least = [max(row.wait.least, floor) for row in rows]
    most = [row.wait.most for row in rows]
    typical = [row.wait.typical for row in rows]
    # A log scale has no 0, so a bar from 0 starts at the bottom.
    from_zero = floor > 0 and any(row.wait.least <= 0 for row in rows)
    label = "least to most\n(0 is the bottom)" if from_zero else "least to most"
    colour = COLOURS[0]
    if len(rows) <= BARS:
        heights = [high - low for low, high in zip(least, most, strict=True)]
        axes.bar(attempts, heights, bottom=least, width=0.6, color=colour, alpha=0.35, label=label)
        axes.plot(attempts, typical, "o", color=INK, markersize=5, clip_on=False, label="typical")
        return
    axes.fill_between(attempts, least, most, color=colour, alpha=0.35, linewidth=0, label=label)
    axes.plot(attempts, typical, color=INK, linewidth=1.3, label="typical")
