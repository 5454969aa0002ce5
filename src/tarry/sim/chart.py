"""The pictures of a study: which ones it has, by the curves its model gives."""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tarry.core.value import Value
from tarry.sim.canvas import Picture, Sheet, inline_svg, save
from tarry.sim.palette import FAINT
from tarry.sim.panels import Frame, Lines, Trace, each, height, together
from tarry.sim.run import Curve
from tarry.sim.scale import amount
from tarry.sim.study import RECOVERY, Study

ONE = 3.8
"""The height of a picture with all policies in one panel, in inches."""

KEY = 0.2
"""The height of a line of its legend, in inches."""


AFTERWARDS = 1.25
"""How many times the longest recovery is shown when every policy recovers."""

LONG_AFTERWARDS = 3.0
"""The same when some never do: long enough to see it."""


BEYOND = 1.01
"""How far beyond its last point a curve's time goes on, so that a spike there is seen."""

BULK = 0.97
"""The share of a policy's arrivals that must be in the picture."""

FAR = 4.0
"""How many times longer than a policy in the middle the longest is followed."""

SLACK = 1.25
"""How much more there is than what is shown before it is said."""


class View(Value):
    """A picture that can be made wherever the main curve is there."""

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
    """Write the pictures of a study under each other into one .svg or .png file."""
    save(path, pictures(study) or [_empty(study)])


def figures(study: Study) -> list[tuple[Picture, str]]:
    """Each picture of a study with its SVG, all fit for one HTML page."""
    found = enumerate(pictures(study), start=1)
    return [(picture, inline_svg(picture, f"picture{number}")) for number, picture in found]


def pictures(study: Study) -> list[Picture]:
    """Every picture that the curves of a study are good for."""
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
    main, against = view.lines.main, view.lines.against
    if not view.overlaid:
        held = any(against in trace.curves for trace in traces)
        title = f"{view.title}, against capacity" if held else view.title
        draw = partial(each, traces, view.lines, frame)
        return Picture(title, view.caption, height(len(traces)), draw)
    limit = _limit(study, traces) if main == "delivered" else None
    since = frame.replace(start=max(0.0, frame.start), shades=())
    high = max(ONE, KEY * (len(traces) + 4))
    return Picture(view.title, view.caption, high, partial(together, traces, main, limit, since))


def _frame(study: Study, traces: Sequence[Trace]) -> Frame:
    """The stretch of time that tells the story, and where in it the service is down."""
    times = [curve.seconds for trace in traces for curve in trace.curves.values()]
    first = min((float(some[0]) for some in times if len(some)), default=0.0)
    last = max((float(some[-1]) for some in times if len(some)), default=0.0)
    if first >= 0:
        shades, shaded = _trouble(study)
        end = _end(traces)
        time = "Time (seconds)"
        if end < last / SLACK:
            time += f"; the last curve ends at {amount(last)} s"
        return Frame(0.0, end * BEYOND or 1.0, time, shades, shaded)
    end = min(last, _story(study)) if last > 0 else -first
    return Frame(
        max(first, -end / 2),
        end,
        "Time since the endpoint came back (seconds)",
        ((first, 0.0),),
        f"endpoint down (for {amount(-first)} s)",
    )


def _end(traces: Sequence[Trace]) -> float:
    """When nearly all is over for most policies: one that goes on and on would squeeze the rest."""
    ends = sorted(_bulk(trace) for trace in traces) or [0.0]
    return min(ends[-1], FAR * ends[len(ends) // 2])


def _bulk(trace: Trace) -> float:
    """When nearly all arrivals are over, or when the last curve ends where none are counted."""
    curve = trace.curves.get("arrivals")
    if curve is None or not curve.values.any():
        return max(
            (float(one.seconds[-1]) for one in trace.curves.values() if len(one[2])), default=0.0
        )
    arrived = np.cumsum(curve.values)
    return float(curve.seconds[np.searchsorted(arrived, BULK * arrived[-1])])


def _trouble(study: Study) -> tuple[tuple[tuple[float, float], ...], str]:
    """When the server was in trouble, and which trouble it was."""
    settings = study.storm.settings
    start = settings.get("warmup")
    for kind in ("outage", "slowdown"):
        lasted = settings.get(kind)
        if isinstance(start, int | float) and isinstance(lasted, int | float):
            return ((start, start + lasted),), f"{kind} ({amount(lasted)} s)"
    return (), ""


def _story(study: Study) -> float:
    """When the last policy that recovers has done so, and long enough to see who does not."""
    first_runs = [result.values.get(RECOVERY, (None,))[0] for result in study.results]
    known = [recovery for recovery in first_runs if recovery is not None]
    if not known:
        return math.inf
    return max(known) * (AFTERWARDS if len(known) == len(first_runs) else LONG_AFTERWARDS)


def _limit(study: Study, traces: Sequence[Trace]) -> Curve | None:
    """The soonest that anyone could deliver: the whole capacity, while there is work."""
    capacity = next(
        (trace.curves["capacity"] for trace in traces if "capacity" in trace.curves), None
    )
    waiting, arrivals = (study.storm.settings.get(key) for key in ("waiting", "arrivals"))
    if capacity is None or not isinstance(waiting, int | float):
        return None
    back = capacity.seconds >= 0
    seconds = np.concatenate(([0.0], capacity.seconds[back]))
    drained = np.concatenate(([0.0], np.cumsum(np.diff(seconds) * capacity.values[back])))
    coming = arrivals if isinstance(arrivals, int | float) else 0.0
    return Curve(
        "the limit: all capacity used", "", seconds, np.minimum(drained, waiting + coming * seconds)
    )


def _empty(study: Study) -> Picture:
    return Picture(study.storm.name, "No run was completed.", ONE, _say_nothing)


def _say_nothing(sheet: Sheet) -> None:
    said = "no run was completed: nothing to show"
    sheet.write(sheet.width / 2, sheet.height / 2, said, ha="center", color=FAINT)
