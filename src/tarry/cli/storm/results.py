"""Show the results of a study: tables for people, JSON for programs."""

import json
import math
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tarry.cli.output.numbers import bounds, digits
from tarry.sim.estimate import Estimate
from tarry.sim.headline import headline
from tarry.sim.run import Measure
from tarry.sim.study import RECOVERY, Result, Study


def as_json(study: Study) -> str:
    """Return the study as JSON; the same study gives the same bytes, without NaN."""
    storm = study.storm
    document = {
        "results": [
            {
                "policy": result.policy,
                "metrics": {name: bounds(estimate) for name, estimate in result.metrics.items()},
            }
            for result in study.results
        ],
        "scenario": {"name": storm.name, "model": storm.model, "settings": dict(storm.settings)},
        "seed": study.seed,
        "runs": study.runs,
        "asked": study.asked,
        "tarry": version("tarry"),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def show(study: Study, console: Console) -> None:
    """Print the study for people, in the width of the console."""
    for table in _tables(study, console):
        console.print(table)
    console.print(_footer(study), markup=False, soft_wrap=True)
    if line := headline(study):
        console.print(line, markup=False, soft_wrap=True)


def _tables(study: Study, console: Console) -> Iterator[Table]:
    """Use one row per policy if that fits; else one row per metric, in as many tables as needed."""
    wide = Table()
    wide.add_column("Policy", overflow="fold")
    for name, measure in study.measures.items():
        wide.add_column(_title(name, measure), justify="right", no_wrap=True)
    for result in study.results:
        wide.add_row(Text(result.policy), *_cells(study, result))
    if _fits(wide, console):
        yield wide
        return
    results, most = study.results, len(study.results)
    while most > 1 and not all(_fits(table, console) for table in _upright_tables(study, most)):
        most -= 1
    tables = math.ceil(len(results) / most)
    yield from _upright_tables(study, math.ceil(len(results) / tables))


def _upright_tables(study: Study, most: int) -> Iterator[Table]:
    """Yield tables of the metrics with at most `most` policies each."""
    for start in range(0, len(study.results), most):
        yield _upright_table(study, study.results[start : start + most])


def _upright_table(study: Study, results: Sequence[Result]) -> Table:
    """Return the table with one row for each metric and one column for each policy."""
    table = Table()
    table.add_column("Metric", overflow="fold")
    for result in results:
        table.add_column(Text(result.policy), justify="right", overflow="fold")
    columns = [_cells(study, result) for result in results]
    titles = (_title(name, measure, " ") for name, measure in study.measures.items())
    for title, *cells in zip(titles, *columns, strict=True):
        table.add_row(title, *cells)
    return table


def _fits(table: Table, console: Console) -> bool:
    """Return whether a table is narrower than the console."""
    return Measurement.get(console, console.options, table).maximum < console.width


def _title(name: str, measure: Measure, between: str = "\n") -> str:
    """Return the heading of a column: the measure's name, and its unit if it has one."""
    words = name.replace("_", " ")
    return f"{words}{between}({measure.unit})" if measure.unit else words


def _cells(study: Study, result: Result) -> list[str]:
    """Return the cells of a policy's metrics."""
    never = RECOVERY in result.metrics and result.metrics[RECOVERY].mean is None
    return [
        _cell(result.metrics[name], "never" if never and name.startswith(RECOVERY) else "none")
        for name in study.measures
    ]


def _cell(estimate: Estimate, nothing: str) -> str:
    """Return a mean with its interval, or `nothing` if no run has the metric."""
    if estimate.mean is None:
        in_some_runs = estimate.missing < estimate.runs
        return f"{nothing} ({estimate.missing} of {estimate.runs})" if in_some_runs else nothing
    if estimate.high is None or estimate.high == estimate.mean:
        return digits(estimate.mean)
    return f"{digits(estimate.mean)} ± {digits(estimate.high - estimate.mean, 2)}"


def _footer(study: Study) -> str:
    """Return how many runs there were, and their seed."""
    runs = f"{study.runs} of {study.asked}" if study.runs < study.asked else f"{study.runs}"
    word = "run" if runs == "1" else "runs"
    trust = " ± is the 95 % confidence interval of the mean." if study.runs > 1 else ""
    return f"{runs} {word}, seed {study.seed}.{trust}"
