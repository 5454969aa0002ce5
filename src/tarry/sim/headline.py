"""Summarize a study in a sentence or two.

All contestants of a run had the same random numbers, so they are compared run by run: the
difference between two is known far better than either number.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tarry.sim.estimate import Estimate, estimate
from tarry.sim.study import Result, Study


class Comparison(NamedTuple):
    """The word for the winner's merit, how its lead is described, and whether more is better."""

    title: str
    lead: str
    more: bool = False


RACES: Mapping[str, Comparison] = {
    "goodput": Comparison("Highest goodput", "above", more=True),
    "recovery": Comparison("First to recover", "s before"),
    "time": Comparison("First to be done", "s before"),
    "peak": Comparison("Lowest peak", "below"),
}
"""The metrics to compare, in order: the first one in which the contestants differ is used."""


def headline(study: Study) -> str:
    """Name the leader, as far as the runs are clear; empty if there is nothing to compare."""
    if study.runs < 2 or len(study.results) < 2:  # noqa: PLR2004  a comparison needs two
        return ""
    races = [metric for metric in RACES if metric in study.measures]
    sentences = (_leaders(study.results, metric) for metric in races)
    alike = f"In {' and '.join(races)} these runs show no difference between them."
    return next(filter(None, sentences), alike)


def _leaders(results: tuple[Result, ...], metric: str) -> str:
    """Name the leaders in one metric, and their lead; empty if all contestants are equal."""
    race = RACES[metric]
    sign = -1 if race.more else 1
    known = [(mean, result) for result in results if (mean := _mean(result, metric)) is not None]
    lost = [result for result in results if _mean(result, metric) is None]
    ranked = [result for _, result in sorted(known, key=lambda pair: sign * pair[0])]
    if not ranked:
        return f"{race.title}: none in every run."
    leads = [(_lead_of(ranked[0], result, metric, sign), result) for result in ranked]
    behind = [(lead, result) for lead, result in leads if _clear(lead)]
    if not behind and not lost:
        return ""
    sentence = f"{race.title}: {_names(result for lead, result in leads if not _clear(lead))}"
    if behind:
        lead, second = behind[0]
        sentence += f", {_amount_text(lead)} {race.lead} {second.policy}"
    return f"{sentence}. Not every run ends well with {_names(lost)}." if lost else f"{sentence}."


def _mean(result: Result, metric: str) -> float | None:
    return result.metrics[metric].mean


def _lead_of(first: Result, other: Result, metric: str, sign: int) -> Estimate:
    pairs = zip(first.values[metric], other.values[metric], strict=True)
    return estimate([sign * (b - a) for a, b in pairs if a is not None and b is not None])


def _clear(lead: Estimate) -> bool:
    return lead.low is not None and lead.low > 0


def _amount_text(lead: Estimate) -> str:
    mean = lead.mean or 0.0
    return f"{mean:,.0f}" if mean >= 100 else f"{mean:.3g}"  # noqa: PLR2004  three digits


def _names(results: Iterable[Result]) -> str:
    return ", ".join(result.policy for result in results)
