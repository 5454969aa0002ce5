"""Where a command writes reports and plots; whatever stands in the way is said before the work."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tarry.cli.extras import needed_for
from tarry.cli.policy_file import BadFile
from tarry.core.policy import Policy
from tarry.sim.study import Study

Write = Callable[[Study], None]


def report_to(path: Path, command: str) -> Write:
    """Write a report to the path; `command` is in it, for who wants to repeat the study."""
    _check("--report", path, (".html", ".htm"))
    with needed_for("--report"):
        from tarry.sim.picture.report import write_report  # noqa: PLC0415  it needs the extra
    return lambda study: _written(path, partial(write_report, path, study, command))


def plot_to(path: Path) -> Write:
    """Write a picture to the path."""
    _check("--plot", path, (".png", ".svg"))
    with needed_for("--plot"):
        from tarry.sim.picture.chart import write_plot  # noqa: PLC0415  it needs the extra
    return lambda study: _written(path, partial(write_plot, path, study))


def waits_to(path: Path) -> Callable[[Policy, str, int | None], None]:
    """Write the waits of a policy, under a name and up to an attempt, as a picture to the path."""
    _check("--plot", path, (".png", ".svg"))
    with needed_for("--plot"):
        from tarry.sim.picture.canvas import save  # noqa: PLC0415  it needs the extra
        from tarry.sim.picture.envelope import envelope  # noqa: PLC0415  likewise
    return lambda *waits: _written(path, partial(save, path, [envelope(*waits)]))


def _check(option: str, path: Path, suffixes: tuple[str, ...]) -> None:
    if path.suffix.lower() not in suffixes:
        wanted = f"a name that ends in {' or '.join(suffixes)}"
    elif path.is_dir() or not path.parent.is_dir():
        wanted = "a file in a folder that is there"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        wanted = "a file that can be written"
    else:
        return
    raise BadFile(f"{option!r} is {str(path)!r}; it must be {wanted}")


def _written(path: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}; it could not be written") from None
