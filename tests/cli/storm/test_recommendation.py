import io
import json
import math

import pytest
from rich.console import Console

from tarry.cli.storm.recommendation import as_json, show
from tarry.core.backoff import Exponential
from tarry.core.codec import to_dict
from tarry.core.jitter import Equal
from tarry.core.text import from_toml, to_toml
from tarry.sim.estimate import Estimate
from tarry.sim.recommend.advice import sentences, verdict
from tarry.sim.recommend.candidates import Candidate
from tarry.sim.recommend.limits import limited
from tarry.sim.recommend.miniature import Size
from tarry.sim.recommend.recommendation import Point, Prediction, Recommendation
from tarry.sim.recommend.wish import Wish

WISH = Wish(clients=10_000, capacity=200, outage=600, latency=120)
EQUAL = Candidate("equal 1..92.5 s", Exponential(base=1, cap=92.5), Equal())
FOUND = Recommendation(
    wish=WISH,
    seed=1,
    candidate=EQUAL,
    policy=limited(EQUAL.policy, outage=600, recovery=100),
    predicted=Prediction(Estimate(92.7, 91.0, 94.4, 20), 108.0, 0.9, 147_839.0),
    coordinated=Prediction(Estimate(55.4, 55.0, 56.0, 5), 58.0, 1.1, 294.0),
    front=(
        Point("paced", None, 55.4, 1.1, 294.0),
        Point("equal 1..92.5 s", EQUAL.policy, 92.0, 0.91, 148_000.0),
    ),
    size=Size(),
    complete=True,
)


def shown(found: Recommendation) -> list[str]:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show(found, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_programs_get_the_whole_answer() -> None:
    document = json.loads(as_json(FOUND))
    assert document["wish"] == {
        "clients": 10_000,
        "capacity": 200.0,
        "outage": 600.0,
        "latency": 120.0,
        "endpoint": "brittle",
    }
    assert document["feasible"] is True
    assert document["why"] == verdict(FOUND)
    assert document["recommended"]["policy"] == to_dict(FOUND.policy)
    assert from_toml(document["recommended"]["toml"]) == FOUND.policy
    assert document["recommended"]["predicted"] == {
        "recovery": {"mean": 92.7, "ci95": [91.0, 94.4]},
        "slowest": 108.0,
        "peak_ratio": 0.9,
        "attempts_during_outage": 147_839.0,
    }
    assert document["recommended"]["because"] == sentences(FOUND)
    assert document["coordinated"]["predicted"]["recovery"]["mean"] == 55.4
    assert document["coordinated"]["rule_of_thumb"] > 50
    assert [point["name"] for point in document["front"]] == ["paced", "equal 1..92.5 s"]
    assert document["front"][0]["policy"] is None
    assert document["front"][1]["policy"] == to_dict(EQUAL.policy)
    assert document["front"][1]["attempts_during_outage"] == 148_000
    assert document["size"] == {"thinned": 1, "faster": 1, "cut": False}
    assert (document["seed"], document["runs"], document["complete"]) == (1, 20, True)


def test_what_never_happened_is_null() -> None:
    never = FOUND._replace(
        predicted=Prediction(Estimate(None, None, None, 20, 3), None, 2.0, 5.0),
        coordinated=None,
        front=(Point("slow", EQUAL.policy, math.inf, 2.0, 5.0),),
    )
    document = json.loads(as_json(never))
    assert document["recommended"]["predicted"]["recovery"] == {"mean": None, "ci95": None}
    assert document["recommended"]["predicted"]["slowest"] is None
    assert document["coordinated"] is None
    assert document["front"][0]["recovery"] is None
    lines = shown(never)
    assert "Predicted: it does not recover in every run." in lines
    assert any(line.startswith("│ slow") and line.count("never") == 2 for line in lines)


def test_people_get_the_wish_the_verdict_the_front_and_the_policy() -> None:
    lines = shown(FOUND)
    assert lines[0] == (
        "10,000 clients fail when an outage of 10 min begins; the service does 200 a second "
        "(brittle above that). When it is back, all should be served within 2 min."
    )
    assert lines[1] == verdict(FOUND)
    text = "\n".join(lines)
    assert to_toml(FOUND.policy) in text
    for sentence in sentences(FOUND):
        assert sentence in lines
    assert (
        "Predicted: recovery in 92.7 ± 1.7 s (mean of 20 runs and its 95 % interval), a peak of "
        "0.9 x the capacity, 147,839 attempts during the outage."
    ) in lines


def test_the_recommended_one_is_marked_in_the_front() -> None:
    rows = [line for line in shown(FOUND) if line.startswith("│")]
    cells = [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]
    assert cells == [
        ["paced", "55.4", "1.11", "1.1", "0.0294"],
        ["equal 1..92.5 s *", "92", "1.84", "0.91", "14.8"],
    ]


def test_the_recommended_one_is_shown_among_the_front_even_if_it_is_not_on_it() -> None:
    slower = Point("full 1..200 s", EQUAL.policy, 190.0, 0.5, 90_000.0)
    rows = [
        line
        for line in shown(FOUND._replace(front=(FOUND.front[0], slower)))
        if line.startswith("│")
    ]
    assert [row.split("│")[1].strip() for row in rows] == [
        "paced",
        "equal 1..92.5 s *",
        "full 1..200 s",
    ]
    assert "92.7" in rows[1]


def test_a_single_run_has_no_interval() -> None:
    single = FOUND._replace(
        predicted=FOUND.predicted._replace(recovery=Estimate(92, None, None, 1))
    )
    assert any(
        line.startswith("Predicted: recovery in 92 s (mean of 1 runs") for line in shown(single)
    )


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (Size(thinned=4), "simulated with one in 4 clients and as much of the capacity."),
        (Size(faster=8), "simulated with all times and the number of clients divided by 8."),
        (Size(faster=2, cut=True), "divided by 2, with the last part of the outage only."),
    ],
)
def test_a_smaller_world_is_admitted(size: Size, said: str) -> None:
    last = shown(FOUND._replace(size=size))[-1]
    assert last.startswith("To save time this was simulated with ")
    assert last.endswith(said)
    assert not any(line.startswith("To save time") for line in shown(FOUND))
