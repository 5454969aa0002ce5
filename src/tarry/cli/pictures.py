"""How a command writes reports and plots."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tarry.cli.extras import needed_for
from tarry.cli.output_file import check, written
from tarry.core.policy import Policy
from tarry.sim.study import Study

Write = Callable[[Study], None]


def report_to(path: Path, command: str) -> Write:
    """Write a report to the path; `command` is in it, for who wants to repeat the study."""
    check("--report", path, (".html", ".htm"))
    with needed_for("--report"):
        from tarry.sim.picture.report import write_report  # noqa: PLC0415  it needs the extra
    return lambda study: written(path, partial(write_report, path, study, command))


def plot_to(path: Path) -> Write:
    """Write a picture to the path."""
    check("--plot", path, (".png", ".svg"))
    with needed_for("--plot"):
        from tarry.sim.picture.chart import write_plot  # noqa: PLC0415  it needs the extra
    return lambda study: written(path, partial(write_plot, path, study))


def waits_to(path: Path) -> Callable[[Policy, str, int | None], None]:
    """Write the waits of a policy, under a name and up to an attempt, as a picture to the path."""
    check("--plot", path, (".png", ".svg"))
    with needed_for("--plot"):
        from tarry.sim.picture.canvas import save  # noqa: PLC0415  it needs the extra
        from tarry.sim.picture.envelope import envelope  # noqa: PLC0415  likewise
    return lambda *waits: written(path, partial(save, path, [envelope(*waits)]))
