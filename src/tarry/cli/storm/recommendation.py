"""Show a recommendation: tables and sentences for people, JSON for programs."""

import json
import math
from importlib.metadata import version

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tarry.cli.output.numbers import bounds, digits
from tarry.core.codec import to_dict
from tarry.core.duration import spoken
from tarry.core.text import to_toml
from tarry.sim.recommend.advice import sentences, verdict
from tarry.sim.recommend.coordinated import rule_of_thumb
from tarry.sim.recommend.miniature import Size
from tarry.sim.recommend.recommendation import Point, Prediction, Recommendation
from tarry.sim.recommend.wish import Wish

RECOMMENDED = " *"


def as_json(recommendation: Recommendation) -> str:
    """Return the recommendation as JSON; the same seed gives the same bytes, without NaN."""
    wish = recommendation.wish
    document = {
        "wish": {field: getattr(wish, field) for field in type(wish).__fields__},
        "feasible": recommendation.feasible,
        "why": verdict(recommendation),
        "recommended": {
            "policy": to_dict(recommendation.policy),
            "toml": to_toml(recommendation.policy),
            "predicted": _prediction_fields(recommendation.predicted),
            "because": sentences(recommendation),
        },
        "coordinated": None
        if recommendation.coordinated is None
        else {
            "predicted": _prediction_fields(recommendation.coordinated),
            "rule_of_thumb": rule_of_thumb(wish),
        },
        "front": [_point_for_json(point) for point in recommendation.front],
        "drain_limit": wish.drain,
        "size": recommendation.size._asdict(),
        "seed": recommendation.seed,
        "runs": recommendation.predicted.recovery.runs,
        "complete": recommendation.complete,
        "tarry": version("tarry"),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def show(recommendation: Recommendation, console: Console) -> None:
    """Print the recommendation for people."""
    for line in (_wish_sentence(recommendation.wish), verdict(recommendation)):
        console.print(line, markup=False, soft_wrap=True)
    console.print()
    console.print("What cannot be bettered in recovery, load and attempts at once:")
    console.print(_table(recommendation))
    console.print(
        f"{RECOMMENDED.strip()} is recommended: it does well when things are a little worse, too."
    )
    console.print("Recommended for clients that retry for themselves:")
    console.print()
    console.print(to_toml(recommendation.policy), markup=False, soft_wrap=True)
    for line in (
        _prediction_sentence(recommendation),
        *sentences(recommendation),
        *_size_sentence(recommendation.size),
    ):
        console.print(line, markup=False, soft_wrap=True)


def _prediction_fields(predicted: Prediction) -> dict[str, object]:
    """Return a prediction for JSON."""
    return {
        "recovery": bounds(predicted.recovery),
        "slowest": predicted.slowest,
        "peak_ratio": predicted.peak_ratio,
        "attempts_during_outage": predicted.attempts,
    }


def _point_for_json(point: Point) -> dict[str, object]:
    """Return one policy's result for JSON."""
    return {
        "name": point.name,
        "policy": None if point.policy is None else to_dict(point.policy),
        "recovery": point.recovery if math.isfinite(point.recovery) else None,
        "peak_ratio": point.peak_ratio,
        "attempts_during_outage": point.attempts,
    }


def _wish_sentence(wish: Wish) -> str:
    """Return the wish in words."""
    return (
        f"{wish.clients:,} clients fail when an outage of {spoken(wish.outage)} begins; the "
        f"service does {wish.capacity:,g} a second ({wish.endpoint} above that). When it is back, "
        f"all should be served within {spoken(wish.latency)}."
    )


def _table(recommendation: Recommendation) -> Table:
    """Return a table that compares the recommended policy with others."""
    table = Table()
    table.add_column("Policy", overflow="fold")
    for title in (
        "recovery\n(s)",
        "to the\ndrain limit",
        "peak to\ncapacity",
        "attempts per\nclient",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    wish = recommendation.wish
    for point in _points(recommendation):
        mark = RECOMMENDED if point.name == recommendation.candidate.name else ""
        is_known = math.isfinite(point.recovery)
        cells = (
            digits(point.recovery) if is_known else "never",
            digits(point.recovery / wish.drain) if is_known else "never",
            digits(point.peak_ratio),
            digits(point.attempts / wish.clients),
        )
        table.add_row(Text(point.name + mark), *cells)
    return table


def _points(recommendation: Recommendation) -> list[Point]:
    """Return the front, plus the recommended policy if it is not on the front."""
    points = list(recommendation.front)
    mean = recommendation.predicted.recovery.mean
    if mean is not None and all(point.name != recommendation.candidate.name for point in points):
        load, attempts = recommendation.predicted.peak_ratio, recommendation.predicted.attempts
        points.append(
            Point(recommendation.candidate.name, recommendation.policy, mean, load, attempts)
        )
    return sorted(points, key=lambda point: point.recovery)


def _prediction_sentence(recommendation: Recommendation) -> str:
    """Return the prediction in words."""
    predicted = recommendation.predicted
    mean, high = predicted.recovery.mean, predicted.recovery.high
    if mean is None:
        return "Predicted: it does not recover in every run."
    trust = "" if high is None else f" ± {digits(high - mean, 2)}"
    return (
        f"Predicted: recovery in {digits(mean)}{trust} s (mean of {predicted.recovery.runs} runs "
        f"and its 95 % interval), a peak of {digits(predicted.peak_ratio)} x the capacity, "
        f"{predicted.attempts:,.0f} attempts during the outage."
    )


def _size_sentence(size: Size) -> list[str]:
    """Return in words how the simulation was made smaller, if it was."""
    if size.full:
        return []
    reductions = []
    if size.thinned > 1:
        reductions.append(f"with one in {size.thinned} clients and as much of the capacity")
    if size.faster > 1:
        reductions.append(f"with all times and the number of clients divided by {size.faster}")
    if size.cut:
        reductions.append("with the last part of the outage only")
    return [f"To save time this was simulated {', '.join(reductions)}."]
