"""Write the reports and plots of commands."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tarry.cli.extras import needed_for
from tarry.cli.output.output_file import check, write_file
from tarry.core.policy import Policy
from tarry.sim.study import Study

Write = Callable[[Study], None]


def report_to(path: Path, command: str) -> Write:
    """Return a function that writes a report; the report shows `command`, to repeat the study."""
    check("--report", path, (".html", ".htm"))
    with needed_for("--report"):
        from tarry.sim.picture.report import write_report  # noqa: PLC0415  it needs the extra
    return lambda study: write_file(path, partial(write_report, path, study, command))


def plot_to(path: Path) -> Write:
    """Return a function that writes a study's pictures to the path."""
    check("--plot", path, (".png", ".svg"))
    with needed_for("--plot"):
        from tarry.sim.picture.chart import write_plot  # noqa: PLC0415  it needs the extra
    return lambda study: write_file(path, partial(write_plot, path, study))


def waits_to(path: Path) -> Callable[[Policy, str, int | None], None]:
    """Return a function that draws a policy's waits: it takes the policy, a name and a limit."""
    check("--plot", path, (".png", ".svg"))
    with needed_for("--plot"):
        from tarry.sim.picture.canvas import save  # noqa: PLC0415  it needs the extra
        from tarry.sim.picture.envelope import envelope  # noqa: PLC0415  likewise
    return lambda *waits: write_file(path, partial(save, path, [envelope(*waits)]))
