"""The pictures of a study, chosen by the curves that its model has."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tarry.core.value import Value
from tarry.sim.picture.canvas import Picture, Sheet, inline_svg, save
from tarry.sim.picture.palette import FAINT
from tarry.sim.picture.panels import Frame, Lines, Trace, each, height, together
from tarry.sim.picture.scale import amount
from tarry.sim.run import Curve
from tarry.sim.study import RECOVERY, Study

ONE = 3.8
"""The height of a picture with all policies in one panel, in inches."""

LEGEND_LINE_HEIGHT = 0.2
"""The height of a line of the legend, in inches."""


AFTERWARDS = 1.25
"""How many times the longest recovery to show if every policy recovers."""

ROOM = 1.05
"""How many times the length of the longest curve to show at most: there is nothing after it."""

LONG_AFTERWARDS = 3.0
"""How many times the longest recovery to show if some policy never recovers."""


BEYOND = 1.01
"""Extend the time a little beyond a curve's last point, so that a spike there is visible."""

BULK = 0.97
"""The share of a policy's arrivals that the picture must include."""

FAR = 4.0
"""Show at most this many times what the median policy needs."""

SLACK = 1.25
"""Say so below the picture if the curves are this many times longer than the part shown."""


class View(Value):
    """A picture, drawn for every study that has its main curve."""

    lines: Lines
    title: str
    caption: str
    overlaid: bool = False


VIEWS = (
    View(
        Lines("goodput", beside="offered", against="capacity", peak="offered"),
        "Goodput, and what was offered",
        "Requests answered in time, against all that were sent, retries included, and against what"
        " the server can do.",
    ),
    View(
        Lines("queue", peak="queue"),
        "The queue at the server",
        "Attempts that wait for a worker, some of them for a client that has gone.",
    ),
    View(
        Lines("arrivals", beside="rate", against="capacity", peak="arrivals"),
        "Arrivals over time",
        "Attempts that reach the service. Where there is a dotted line, it cannot serve more than"
        " that.",
    ),
    View(
        Lines("delivered"),
        "How soon everything was delivered",
        "Deliveries made since the endpoint came back.",
        overlaid=True,
    ),
    View(
        Lines("done"),
        "How soon everyone was done",
        "The share of the clients that have got their write through.",
        overlaid=True,
    ),
    View(
        Lines("writes", peak="writes"),
        "Writes over time",
        "Writes that reach the row, in vain or not.",
    ),
)


def write_plot(path: Path, study: Study) -> None:
    """Write the pictures of a study below each other into one .svg or .png file."""
    save(path, pictures(study) or [_empty(study)])


def figures(study: Study) -> list[tuple[Picture, str]]:
    """Return each picture of a study with its SVG, for use together on one HTML page."""
    numbered = enumerate(pictures(study), start=1)
    return [(picture, inline_svg(picture, f"picture{number}")) for number, picture in numbered]


def pictures(study: Study) -> list[Picture]:
    """Return every picture for which a study has the curves."""
    traces = [
        Trace(result.policy, number, result.curves) for number, result in enumerate(study.results)
    ]
    frame = _frame(study, traces)
    return [
        _picture(view, study, traces, frame)
        for view in VIEWS
        if any(view.lines.main in trace.curves for trace in traces)
    ]


def _picture(view: View, study: Study, traces: Sequence[Trace], frame: Frame) -> Picture:
    """Return the picture of a view; it is drawn later."""
    main, against = view.lines.main, view.lines.against
    if not view.overlaid:
        held = any(against in trace.curves for trace in traces)
        title = f"{view.title}, against capacity" if held else view.title
        draw = partial(each, traces, view.lines, frame)
        return Picture(title, view.caption, height(len(traces)), draw)
    limit = _fastest_drain(study, traces) if main == "delivered" else None
    since = frame.replace(start=max(0.0, frame.start), shades=())
    high = max(ONE, LEGEND_LINE_HEIGHT * (len(traces) + 4))
    return Picture(view.title, view.caption, high, partial(together, traces, main, limit, since))


def _frame(study: Study, traces: Sequence[Trace]) -> Frame:
    """Choose the time span to show, and where in it the service is down."""
    times = [curve.seconds for trace in traces for curve in trace.curves.values()]
    first = min((float(some[0]) for some in times if len(some)), default=0.0)
    last = max((float(some[-1]) for some in times if len(some)), default=0.0)
    if any("delivered" in trace.curves for trace in traces):
        return _since_it_came_back(study, min(first, 0.0), last)
    end = min(last, _end(traces) * BEYOND) or 1.0
    more = f"; the last curve ends at {amount(last)} s" if last > SLACK * end else ""
    return Frame(0.0, end, f"Time (seconds){more}", *_trouble(study))


def _since_it_came_back(study: Study, first: float, last: float) -> Frame:
    """Show part of the outage and the time until the last recovery; more if some never recover."""
    first_runs = [result.values.get(RECOVERY, (None,))[0] for result in study.results]
    known = [recovery for recovery in first_runs if recovery is not None]
    slack = AFTERWARDS if len(known) == len(first_runs) else LONG_AFTERWARDS
    end = min(last * ROOM, _shortened(known, slack) if known else last) or 1.0
    slowest = max(known, default=0.0)
    more = f"; the last recovers after {amount(slowest)} s" if slowest > end else ""
    return Frame(
        max(first, -end / 2),
        end,
        f"Time since the endpoint came back (seconds){more}",
        ((first, 0.0),) if first < 0 else (),
        f"endpoint down (for {amount(_outage(study, -first))} s)",
    )


def _outage(study: Study, shown: float) -> float:
    """Return how long the endpoint was down; the curves may not go back so far."""
    outage = study.storm.settings.get("outage")
    return float(outage) if isinstance(outage, (int, float)) else shown


def _end(traces: Sequence[Trace]) -> float:
    """Return when most policies are nearly done: one that goes on and on would squeeze the rest."""
    return _shortened([_bulk(trace) for trace in traces], 1.0)


def _shortened(ends: Sequence[float], slack: float) -> float:
    known = sorted(ends) or [0.0]
    return min(known[-1] * slack, FAR * known[(len(known) - 1) // 2])


def _bulk(trace: Trace) -> float:
    """Return when nearly all attempts have arrived; without arrivals, when the last curve ends."""
    curve = trace.curves.get("arrivals")
    if curve is None or not curve.values.any():
        return max(
            (float(line.seconds[-1]) for line in trace.curves.values() if len(line[2])), default=0.0
        )
    arrived = np.cumsum(curve.values)
    return float(curve.seconds[np.searchsorted(arrived, BULK * arrived[-1])])


def _trouble(study: Study) -> tuple[tuple[tuple[float, float], ...], str]:
    """Return when the server was in trouble, and the name of the trouble."""
    settings = study.storm.settings
    start = settings.get("warmup")
    for kind in ("outage", "slowdown"):
        lasted = settings.get(kind)
        if isinstance(start, int | float) and isinstance(lasted, int | float):
            return ((start, start + lasted),), f"{kind} ({amount(lasted)} s)"
    return (), ""


def _fastest_drain(study: Study, traces: Sequence[Trace]) -> Curve | None:
    """Return the fastest possible drain: all the capacity that new messages leave is used."""
    waiting, arrivals = (study.storm.settings.get(key) for key in ("waiting", "arrivals"))
    known = [trace.curves["capacity"] for trace in traces if "capacity" in trace.curves]
    longest = max(known, key=lambda curve: len(curve.seconds), default=None)
    if longest is None or not isinstance(waiting, int | float):
        return None
    back = longest.seconds >= 0
    seconds, capacity = longest.seconds[back], longest.values[back]
    taken = arrivals if isinstance(arrivals, int | float) else 0.0
    drained = np.cumsum(np.diff(seconds) * np.maximum(capacity[:-1] - taken, 0.0))
    made = np.minimum(np.concatenate((np.zeros(min(1, len(seconds))), drained)), waiting)
    return Curve("the limit: all capacity used", "", seconds, made)


def _empty(study: Study) -> Picture:
    return Picture(study.storm.name, "No run was completed.", ONE, _say_nothing)


def _say_nothing(sheet: Sheet) -> None:
    message = "no run was completed: nothing to show"
    sheet.write(sheet.width / 2, sheet.height / 2, message, ha="center", color=FAINT)
