"""Draw the pictures of the docs into docs/pictures: `.venv/bin/python docs/draw.py`.

Each is what `tarry storm run SCENARIO --seed 1 --plot` draws, for some of the scenario's policies.
Seeds are fixed, so a picture changes only when the simulator does.
"""  # noqa: INP001  a script, not a module

import sys
from pathlib import Path
from typing import NamedTuple

from tarry.core.policy import Policy
from tarry.sim.picture.canvas import Picture, save
from tarry.sim.picture.chart import pictures
from tarry.sim.picture.envelope import envelope
from tarry.sim.shipped import shipped
from tarry.sim.study import study

FOLDER = Path(__file__).parent / "pictures"
SEED = 1


class Part(NamedTuple):
    """Some policies of a shipped scenario, and which of its pictures are drawn (None: all)."""

    scenario: str
    policies: tuple[str, ...]
    first: int | None = None


PARTS = {
    "jitter": Part("brief-blip", ("no-jitter", "full", "equal", "smooth")),
    "metastable-slowdown": Part(
        "metastable-slowdown", ("no-retries", "three-retries", "with-quota"), 1
    ),
    "webhook-outage": Part("webhook-outage", ("full-60", "paced")),
}


def draw(folder: Path) -> list[Path]:
    """Write every picture, and say where it is."""
    drawn = {name: part_of(part) for name, part in PARTS.items()}
    drawn["waits"] = [envelope(Policy(), "the default policy")]
    paths = []
    for name, some in drawn.items():
        paths.append(folder / f"{name}.svg")
        save(paths[-1], some)
    return paths


def part_of(part: Part) -> list[Picture]:
    """Simulate what a part shows."""
    storm = shipped(part.scenario)
    known = {contestant.name: contestant for contestant in storm.contestants}
    chosen = [known[name] for name in part.policies]
    return pictures(study(storm, chosen, seed=SEED, runs=1))[: part.first]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    sys.stdout.writelines(f"{path.relative_to(Path.cwd())}\n" for path in draw(FOLDER))
