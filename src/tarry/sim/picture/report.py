"""A study as one HTML page: the question, the results, the pictures, and how to repeat it.

The page needs no network and no script. It contains no date: the same study gives the same page.
"""

import json
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import matplotlib as mpl
import numpy as np

from tarry.core.duration import spoken
from tarry.core.explain import Range, schedule, sentences
from tarry.core.policy import Policy
from tarry.core.text import to_toml
from tarry.sim.estimate import Estimate
from tarry.sim.headline import headline
from tarry.sim.picture.canvas import Picture, inline_svg
from tarry.sim.picture.chart import figures
from tarry.sim.picture.envelope import envelope
from tarry.sim.picture.page import Html, code, joined, page, table, tag
from tarry.sim.picture.scale import amount
from tarry.sim.run import Contestant
from tarry.sim.study import RECOVERY, Study


def write_report(path: Path, study: Study, command: str) -> None:
    """Write the page; `command` is the command line that repeats the study."""
    path.write_text(report(study, command), encoding="utf-8")


def report(study: Study, command: str) -> str:
    """Return the page as text."""
    parts = (
        *_opening(study),
        *_results(study),
        *_pictures(study),
        *_scenario(study),
        *_policies(study),
        *_repeat(study, command),
    )
    return page(f"{study.storm.name}: what the storm did", parts)


def _opening(study: Study) -> Iterator[Html]:
    """Yield the title, the headline and the circumstances."""
    yield tag("h1", study.storm.name)
    if study.storm.about:
        yield tag("p", study.storm.about, class_="about")
    line = headline(study)
    if line:
        yield tag("p", line, class_="headline")
    cut_short = f" of {study.asked:,} asked for; it was interrupted" * (study.runs < study.asked)
    yield tag(
        "p",
        f"Model: {study.storm.model}. Policies: {len(study.results)}."
        f" Runs: {study.runs:,}{cut_short}. Seed: {study.seed}.",
        class_="faint",
    )


def _results(study: Study) -> Iterator[Html]:
    """Yield the tables of results and of what they mean."""
    yield tag("h2", "Results")
    if not study.results:
        yield tag("p", "No run was completed, so there is nothing to tell.")
        return
    measures = study.measures
    yield table(
        "Mean over the runs; below it the 95 % confidence interval of that mean.",
        ["Policy", *(_head(name, measure.unit) for name, measure in measures.items())],
        (
            [result.policy, *(_result_cell(name, result.metrics[name]) for name in measures)]
            for result in study.results
        ),
        "numbers",
    )
    yield table(
        "What the numbers tell.",
        ["Number", "What it tells"],
        ([_head(name, measure.unit), measure.about] for name, measure in measures.items()),
    )


def _head(name: str, unit: str) -> Html:
    broken = joined(name.split("_"), "_<wbr>")  # a narrow column may break here
    return joined([broken, tag("span", _unit(unit), class_="unit")])


def _unit(unit: str) -> str:
    return {"s": "seconds", "1/s": "per second"}.get(unit, unit)


def _result_cell(name: str, estimate: Estimate) -> Html:
    """Format a mean with its interval, or say how many runs gave no number."""
    if estimate.mean is None:
        nothing = "never" if name.startswith(RECOVERY) else "none"
        return joined([nothing, _small(f"in {estimate.missing:,} of {estimate.runs:,} runs")])
    if estimate.low is None or estimate.high is None:
        return joined([amount(estimate.mean), _small("one run")])
    return joined(
        [amount(estimate.mean), _small(f"{amount(estimate.low)} to {amount(estimate.high)}")]
    )


def _small(text: str) -> Html:
    return tag("span", text, class_="interval")


def _pictures(study: Study) -> Iterator[Html]:
    """Yield the pictures."""
    drawn = figures(study)
    if drawn:
        yield tag("h2", "Pictures")
        yield tag("p", "All pictures show the first run.", class_="faint")
    for picture, svg in drawn:
        yield _figure(picture, svg)


def _figure(picture: Picture, svg: str) -> Html:
    """Return a picture with its caption."""
    label = f"{picture.title}. {picture.caption}"
    sheet = tag("div", Html(svg), class_="sheet", role="img", aria_label=label)
    frame = tag("div", sheet, class_="box", tabindex="0", role="group", aria_label=picture.title)
    return tag("figure", frame, tag("figcaption", picture.caption))


def _scenario(study: Study) -> Iterator[Html]:
    """Yield the settings and the text of the scenario."""
    storm = study.storm
    yield tag("h2", "What was asked")
    settings = ([key, _setting(value)] for key, value in storm.settings.items())
    yield table(
        "The settings of the scenario, defaults included; times are seconds.",
        ["Setting", "Value"],
        [["model", storm.model], *settings],
    )
    if storm.text:
        yield tag("p", "The scenario as it was written:")
        yield code(storm.text.strip("\n"), "The scenario file")


def _setting(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _policies(study: Study) -> Iterator[Html]:
    if study.results:
        yield tag("h2", "The policies")
    for number, result in enumerate(study.results, start=1):
        contestant = result.contestant
        yield tag("h3", contestant.name)
        if contestant.policy is None:
            yield tag(
                "p",
                "The lane's pacer: one sender that holds the whole backlog, probes while the"
                " endpoint is down and then sends at the pace it takes.",
            )
        else:
            yield from _policy(contestant.name, contestant.policy, f"policy{number}")
        yield from _guards(contestant)


def _policy(name: str, policy: Policy, prefix: str) -> Iterator[Html]:
    yield code(to_toml(policy).strip("\n"), f"The policy {name} as TOML")
    yield tag("ul", *(tag("li", sentence) for sentence in sentences(policy)))
    rows = schedule(policy)
    if not rows:
        return
    picture = envelope(policy, name)
    yield _figure(picture, inline_svg(picture, prefix))
    yield table(
        "The wait before each attempt, and all waits up to it.",
        ["Attempt", *(f"{what}, {how}" for what in ("Wait", "Total") for how in Range.__fields__)],
        ([str(row.attempt), *_spans(row.wait), *_spans(row.total)] for row in rows),
        "numbers",
    )


def _spans(span: Range) -> tuple[str, str, str]:
    return spoken(span.least), spoken(span.typical), spoken(span.most)


def _guards(contestant: Contestant) -> Iterator[Html]:
    for what, rule in (("Budget", contestant.budget), ("Breaker", contestant.breaker)):
        if rule is not None:
            yield tag("p", f"{what}: ", tag("code", repr(rule)))


def _repeat(study: Study, command: str) -> Iterator[Html]:
    yield tag("h2", "To repeat it")
    yield code(command, "The command")
    made_with = {
        "tarry": version("tarry"),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "matplotlib": mpl.__version__,
        "seed": str(study.seed),
        "runs": f"{study.runs:,}",
    }
    yield table(
        "Made with; the same versions on the same kind of machine give the same numbers.",
        ["What", "Which"],
        made_with.items(),
    )
