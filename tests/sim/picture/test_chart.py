import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from tarry.core.backoff import Exponential
from tarry.core.jitter import Full, Jitter, NoJitter
from tarry.core.policy import Policy
from tarry.sim.estimate import estimate
from tarry.sim.picture.chart import figures, pictures, write_plot
from tarry.sim.run import Contestant, Curve
from tarry.sim.scenario.storm import Storm
from tarry.sim.study import Result, Study, study
from tarry.sim.timeline import Timeline

SECONDS = np.arange(-600.0, 400.0)
BACK = SECONDS >= 0
CROWD = Timeline(clients=500, retries=4, bucket=0.1)
JITTERS: dict[str, Jitter] = {"none": NoJitter(), "full": Full()}
CONTESTANTS = [
    Contestant(name, Policy(backoff=Exponential(base=1, cap=8), jitter=jitter, attempts=5))
    for name, jitter in JITTERS.items()
]


def line(label: str, values: object, unit: str = "1/s") -> Curve:
    return Curve(label, unit, SECONDS, np.asarray(values, dtype=float))


BACKLOG = {
    "arrivals": line("attempts", np.where(BACK, 150, 400)),
    "capacity": line("capacity", np.where(BACK, 200, 0)),
    "delivered": line("delivered", np.clip(SECONDS, 0, 66) * 150, "deliveries"),
}
SERVER = {
    name: Curve(name, "1/s", SECONDS[BACK] + 0.5, np.full(400, height))
    for name, height in {"offered": 90.0, "goodput": 80.0, "capacity": 100.0, "queue": 3.0}.items()
}
CONTENTION = {
    "done": Curve("clients done", "share", SECONDS[BACK], np.linspace(0, 1, 400)),
    "writes": Curve("writes", "1/s", SECONDS[BACK], np.linspace(50, 0, 400)),
}


def result(name: str, curves: Mapping[str, Curve], recovery: float | None) -> Result:
    values = {"recovery": (recovery,)}
    return Result(Contestant(name, Policy()), {"recovery": estimate([recovery])}, values, curves)


def held(*results: Result, **settings: object) -> Study:
    storm = Storm("webhooks", "", "backlog", settings, "", CROWD)
    return Study(storm, 1, 1, 1, {}, results)


def words(svg: bytes | str) -> list[str]:
    tree = ET.fromstring(svg)  # noqa: S314  our own file
    return [element.text or "" for element in tree.iter() if element.tag.endswith("text")]


@pytest.mark.parametrize(
    ("curves", "titles"),
    [
        (BACKLOG, ["Arrivals over time, against capacity", "How soon everything was delivered"]),
        (SERVER, ["Goodput, and what was offered, against capacity", "The queue at the server"]),
        (CONTENTION, ["How soon everyone was done", "Writes over time"]),
        ({}, []),
    ],
)
def test_a_study_has_the_pictures_its_curves_are_good_for(
    curves: Mapping[str, Curve], titles: list[str]
) -> None:
    found = pictures(held(result("one", curves, 60.0), result("other", curves, None)))
    assert [picture.title for picture in found] == titles
    assert all(picture.caption.endswith(".") for picture in found)


def test_a_simulated_study_is_written_as_svg_and_as_png(tmp_path: Path) -> None:
    crowd = study(Storm("crowd", "", "timeline", {}, "", CROWD), CONTESTANTS, seed=1, runs=2)
    for name in ("crowd.svg", "crowd.png"):
        write_plot(tmp_path / name, crowd)
    told = words((tmp_path / "crowd.svg").read_bytes())
    assert {"Arrivals over time", "none", "full", "Time (seconds)", "Arrivals per 0.1 s"} <= set(
        told
    )
    assert "peak 500 per 0.1 s" in told
    assert imread(tmp_path / "crowd.png").std() > 0.05


def test_the_same_study_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg", "one.png", "two.png"):
        write_plot(tmp_path / name, held(result("one", BACKLOG, 60.0), waiting=10_000))
    for kind in ("svg", "png"):
        one, two = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("one", "two"))
        assert one == two


def test_the_outage_is_shown_in_part_and_told_in_full() -> None:
    (arrivals, svg), _ = figures(held(result("one", BACKLOG, 60.0), waiting=9_900))
    told = words(svg)
    assert arrivals.title.startswith("Arrivals")
    assert "Endpoint down (for 600 s)" in told
    assert "Time since the endpoint came back (seconds)" in told
    numbers = [
        int(text.replace("\N{MINUS SIGN}", "-")) for text in told if re.match(r"^.?\d+$", text)
    ]
    assert -40 <= min(numbers) < 0


def test_time_goes_on_far_enough_to_see_who_never_recovers() -> None:
    def last(*recoveries: float | None) -> float:
        results = (result(f"policy {n}", BACKLOG, r) for n, r in enumerate(recoveries))
        _, (_, svg) = figures(held(*results, waiting=9_900))
        return max(float(text) for text in words(svg) if text.isdigit())

    assert last(60.0, 40.0) <= 75
    assert 150 <= last(60.0, None) <= 180
    assert last(None, None) >= 350
    assert last(300.0, 20.0) <= 80


def test_a_recovery_that_is_not_shown_is_told() -> None:
    results = (result("slow", BACKLOG, 300.0), result("quick", BACKLOG, 20.0))
    (_, svg), _ = figures(held(*results, waiting=9_900))
    label = "Time since the endpoint came back (seconds); the last recovers after 300 s"
    assert label in words(svg)


def test_an_outage_that_no_curve_shows_leaves_no_shade() -> None:
    seen = {name: line._replace(seconds=line.seconds + 600) for name, line in BACKLOG.items()}
    (_, svg), _ = figures(held(result("one", seen, 60.0), waiting=9_900))
    told = words(svg)
    assert "Time since the endpoint came back (seconds)" in told
    assert not [text for text in told if "down" in text]


def test_deliveries_are_held_to_the_soonest_that_anyone_could_do() -> None:
    _, (_, with_limit) = figures(held(result("one", BACKLOG, 66.0), waiting=9_900, arrivals=1.5))
    assert "The limit: all capacity used" in words(with_limit)
    _, (_, without) = figures(held(result("one", BACKLOG, 66.0)))
    assert "The limit: all capacity used" not in words(without)


@pytest.mark.parametrize("kind", ["outage", "slowdown"])
def test_trouble_of_a_server_is_named(kind: str) -> None:
    (_, svg), _ = figures(held(result("one", SERVER, 60.0), warmup=20.0, **{kind: 30.0}))
    assert f"{kind.capitalize()} (30 s)" in words(svg)


def test_pictures_of_one_page_share_no_id() -> None:
    found = figures(held(result("one", BACKLOG, 60.0)))
    ids = [name for _, svg in found for name in re.findall(r'\bid="([^"]+)"', svg)]
    assert len(found) == 2
    assert len(ids) == len(set(ids))


def test_a_study_without_a_run_says_so(tmp_path: Path) -> None:
    write_plot(tmp_path / "nothing.svg", held())
    assert "no run was completed: nothing to show" in words((tmp_path / "nothing.svg").read_bytes())


def test_empty_curves_can_be_drawn(tmp_path: Path) -> None:
    none = np.empty(0)
    empty = {name: Curve(name, "1/s", none, none) for name in BACKLOG}
    write_plot(tmp_path / "empty.svg", held(result("one", empty, None), waiting=10))
    assert words((tmp_path / "empty.svg").read_bytes()).count("nothing to show") == 2


def test_a_long_thin_tail_of_arrivals_is_cut_off_and_that_is_said() -> None:
    tail = np.concatenate([np.full(100, 50.0), np.full(900, 0.01)])
    curves = {"arrivals": Curve("arrivals", "arrivals per 1 s", np.arange(1000.0), tail)}
    ((_, svg),) = figures(held(result("one", curves, None)))
    told = words(svg)
    assert "Time (seconds); the last curve ends at 999 s" in told
    assert "80" in told
    assert "200" not in told


def test_a_policy_that_goes_on_and_on_leaves_room_for_the_others() -> None:
    def lasting(seconds: float) -> Mapping[str, Curve]:
        share = np.linspace(0, 1, 50)
        return {"done": Curve("clients done", "share", share * seconds, share)}

    results = (result(f"{end} s", lasting(end), None) for end in (5.0, 6.0, 500.0))
    ((_, svg),) = figures(held(*results))
    told = words(svg)
    assert "Time (seconds); the last curve ends at 500 s" in told
    assert "20" in told
    assert "50" not in told
    ((_, svg),) = figures(held(result("a", lasting(5.0), None), result("b", lasting(6.0), None)))
    assert "Time (seconds)" in words(svg)


def test_a_picture_grows_with_its_legend() -> None:
    def height(count: int) -> float:
        results = (result(f"policy {n}", CONTENTION, None) for n in range(count))
        return pictures(held(*results))[0].height

    assert height(1) == height(8)
    assert height(40) > 8
