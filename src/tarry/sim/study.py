"""Simulate contestants in a storm several times, and summarize the runs.

All contestants of a run get the same random numbers, so they differ only by policy (common random
numbers).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tarry.sim.chance import Chance
from tarry.sim.estimate import Estimate, estimate
from tarry.sim.run import Contestant, Curve, Measure, Run
from tarry.sim.scenario.storm import Storm

RECOVERY = "recovery"
RECOVERED = "recovered"
SHARE_RECOVERED = Measure("share of the runs that recovered")


class Result(NamedTuple):
    """The results of one contestant; `values` has the numbers of each run, in order.

    `curves` are those of the first run.
    """

    contestant: Contestant
    metrics: Mapping[str, Estimate]
    values: Mapping[str, tuple[float | None, ...]]
    curves: Mapping[str, Curve]

    @property
    def policy(self) -> str:
        """The name under which the contestant is shown."""
        return self.contestant.name


class Study(NamedTuple):
    """A storm and its results.

    `runs` counts the runs that are complete for every contestant. After an interruption they are
    fewer than `asked`; if there are none, there are no results.
    """

    storm: Storm
    seed: int
    asked: int
    runs: int
    measures: Mapping[str, Measure]
    results: tuple[Result, ...]


def study(
    storm: Storm,
    contestants: Sequence[Contestant],
    *,
    seed: int,
    runs: int,
    on_step: Callable[[], None] = lambda: None,
) -> Study:
    """Simulate every contestant `runs` times; `on_step` is called after each simulation.

    Ctrl-C ends it early and returns the runs that are complete by then.
    """
    for contestant in contestants:
        storm.scenario.refuse(contestant)
    done: list[list[Run]] = []
    try:
        for number in range(runs):
            chance = Chance(seed, number)
            row: list[Run] = []
            for contestant in contestants:
                row.append(storm.scenario.simulate(contestant, chance))
                on_step()
            done.append(row)
    except KeyboardInterrupt:
        pass
    measures = _with_recovered(storm.scenario.measures)
    columns = zip(contestants, zip(*done, strict=True), strict=True) if done else ()
    results = tuple(_result(contestant, column, measures) for contestant, column in columns)
    return Study(storm, seed, runs, len(done), measures, results)


def _with_recovered(measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """Add, beside a recovery, a measure for the share of runs that recovered."""
    if RECOVERY not in measures:
        return dict(measures)
    return {**measures, RECOVERED: SHARE_RECOVERED}


def _result(
    contestant: Contestant, runs: tuple[Run, ...], measures: Mapping[str, Measure]
) -> Result:
    values = {name: tuple(_value(run, name) for run in runs) for name in measures}
    metrics = {name: estimate(numbers) for name, numbers in values.items()}
    return Result(contestant, metrics, values, runs[0].curves)


def _value(run: Run, name: str) -> float | None:
    if name == RECOVERED and name not in run.metrics:
        return float(_value(run, RECOVERY) is not None)
    value = run.metrics[name]
    return None if value is None or not math.isfinite(value) else float(value)
