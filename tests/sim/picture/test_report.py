import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tarry.core.backoff import Exponential
from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule
from tarry.core.duration import spoken
from tarry.core.explain import schedule, sentences
from tarry.core.jitter import Full, NoJitter
from tarry.core.policy import Policy
from tarry.core.text import to_toml
from tarry.sim.estimate import estimate
from tarry.sim.headline import headline
from tarry.sim.picture.report import report, write_report
from tarry.sim.picture.scale import amount
from tarry.sim.run import Contestant, Curve, Measure
from tarry.sim.scenario.storm import Storm
from tarry.sim.study import Result, Study, study
from tarry.sim.timeline import Timeline

CROWD = Timeline(clients=200, retries=4)
STEADY = Policy(backoff=Exponential(base=1, cap=8), jitter=NoJitter(), attempts=5, name="steady")
SPREAD = Policy(backoff=Exponential(base=1, cap=8), jitter=Full(), attempts=3)
STORM = Storm(
    "brief-blip",
    "Everyone fails at once & comes back.",
    "timeline",
    {"clients": 200, "retries": 4, "bucket": 0.1, "steps": [[0, 1.5]], "outage": None},
    'model = "timeline"\nclients = 200  # <many>\n',
    CROWD,
)
COMMAND = "tarry storm run brief-blip --seed 7 --policy 'a <b>.toml'"
VOID = {"meta", "wbr", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """The page as a browser reads it; every element that is opened must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.blocks: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"th", "td"}:
            self.tables[-1][-1].append("")
        elif tag == "pre":
            self.blocks.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"th", "td"} & set(self.open):
            told = self.tables[-1][-1][-1]
            self.tables[-1][-1][-1] = f"{told} {data}" if "span" in self.open else told + data
        if "pre" in self.open:
            self.blocks[-1] += data


@pytest.fixture(scope="module")
def held() -> Study:
    rivals = [
        Contestant("steady <i>", STEADY, QuotaRule(), BreakerRule()),
        Contestant("spread", SPREAD),
    ]
    unguarded = [rival.replace(budget=None, breaker=None) for rival in rivals]
    found = study(STORM, unguarded, seed=7, runs=3)
    results = (
        result._replace(contestant=rival)
        for result, rival in zip(found.results, rivals, strict=True)
    )
    return found._replace(results=tuple(results))


@pytest.fixture(scope="module")
def text(held: Study) -> str:
    return report(held, COMMAND)


@pytest.fixture(scope="module")
def read(text: str) -> Reader:
    return Reader(text)


def test_the_page_needs_nothing_but_itself(text: str, read: Reader) -> None:
    for name, attributes in read.found:
        assert name not in {"script", "link", "iframe", "img", "object", "embed"}
        for key in ("src", "href", "srcset", "action"):
            assert (attributes.get(key) or "#").startswith("#"), (name, attributes)
    assert "http" not in text
    assert set(re.findall(r"url\((.)", text)) <= {"#"}


def test_every_id_is_used_once_and_every_reference_is_found(text: str, read: Reader) -> None:
    ids = [attributes["id"] for _, attributes in read.found if "id" in attributes]
    assert len(ids) == len(set(ids)) > 10
    assert set(re.findall(r'(?:url\(|href=")#([^)"]+)', text)) <= set(ids)


def test_the_results_have_every_policy_and_every_metric(held: Study, read: Reader) -> None:
    results = read.tables[0]
    names = [re.sub(r" .*", "", head) for head in results[0][1:]]
    assert names == list(held.measures)
    assert [row[0] for row in results[1:]] == ["steady <i>", "spread"]
    peaks = [row[names.index("peak") + 1] for row in results[1:]]
    low, high, mean = (amount(held.results[1].metrics["peak"][place] or 0) for place in (1, 2, 0))
    assert peaks == ["200 200 to 200", f"{mean} {low} to {high}"]


def test_every_metric_is_told_with_its_unit(held: Study, read: Reader) -> None:
    told = {row[0]: row[1] for row in read.tables[1][1:]}
    assert told["completion seconds"] == held.measures["completion"].about
    assert told["peak_to_mean"] == held.measures["peak_to_mean"].about
    assert len(told) == len(held.measures)


def test_what_was_asked_is_there_word_for_word(read: Reader, text: str) -> None:
    settings = {row[0]: row[1] for row in read.tables[2][1:]}
    assert settings == {
        "model": "timeline",
        "clients": "200",
        "retries": "4",
        "bucket": "0.1",
        "steps": "[[0, 1.5]]",
        "outage": "none",
    }
    assert STORM.text.strip() in read.blocks
    assert "Everyone fails at once &amp; comes back." in text


def test_every_policy_is_there_as_toml_with_its_schedule(read: Reader, text: str) -> None:
    for policy, found in zip((STEADY, SPREAD), read.tables[3:5], strict=True):
        assert to_toml(policy).strip() in read.blocks
        assert all(sentence in text for sentence in sentences(policy))
        assert [row[:4] for row in found[1:]] == [
            [str(row.attempt), *map(spoken, (row.wait.least, row.wait.typical, row.wait.most))]
            for row in schedule(policy)
        ]
    for guard in (QuotaRule(), BreakerRule()):
        assert repr(guard).replace("'", "&#x27;") in text


def test_the_command_the_versions_and_the_seed_are_there(read: Reader) -> None:
    assert COMMAND in read.blocks
    told = {row[0]: row[1] for row in read.tables[-1][1:]}
    assert told["seed"] == "7"
    assert told["runs"] == "3"
    assert told["NumPy"] == np.__version__
    assert set(told) == {"tarry", "Python", "NumPy", "matplotlib", "seed", "runs"}


def test_pictures_have_words_for_those_who_do_not_see_them(read: Reader) -> None:
    shown = [attributes for _, attributes in read.found if attributes.get("role") == "img"]
    names = [name for name, _ in read.found]
    assert len(shown) == names.count("svg") == names.count("figcaption") == 3
    assert all(len(attributes["aria-label"] or "") > 20 for attributes in shown)


def test_what_the_study_says_is_said_first(held: Study, text: str) -> None:
    assert headline(held)
    assert text.index("headline") < text.index("<h2>")


def test_the_same_study_gives_the_same_page(held: Study, text: str, tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", held, COMMAND)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == text


def test_runs_that_never_recovered_are_counted_and_the_pacer_is_explained() -> None:
    line = Curve("attempts", "1/s", np.arange(-5.0, 5.0), np.ones(10))
    values: dict[str, tuple[float | None, ...]] = {
        "recovery": (None, None),
        "sometimes": (1.0, None),
        "once": (2.0,),
    }
    metrics = {name: estimate(some) for name, some in values.items()}
    measures = {name: Measure(f"about {name}", "s") for name in values}
    paced = Result(Contestant("paced", None), metrics, values, {"arrivals": line})
    page = report(Study(STORM, 1, 20, 2, measures, (paced,)), COMMAND)
    assert Reader(page).tables[0][1] == [
        "paced",
        "never in 2 of 2 runs",
        "none in 1 of 2 runs",
        "2 one run",
    ]
    assert "The lane&#x27;s pacer" in page
    assert "Runs: 2 of 20 asked for; it was interrupted." in page


def test_a_study_without_a_run_still_says_what_was_asked() -> None:
    page = report(Study(STORM, 1, 20, 0, CROWD.measures, ()), COMMAND)
    read = Reader(page)
    assert "No run was completed" in page
    assert COMMAND in read.blocks
    assert STORM.text.strip() in read.blocks
