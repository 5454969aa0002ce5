"""The scenarios that come with tarry, by name."""

from importlib.resources import files

from tarry.sim.scenario.reader import from_toml
from tarry.sim.scenario.storm import Storm

FOLDER = files("tarry") / "scenarios"
SUFFIX = ".toml"


def names() -> list[str]:
    """Return the names of all scenarios, in alphabetical order."""
    file_names = (path.name for path in FOLDER.iterdir())
    return sorted(name.removesuffix(SUFFIX) for name in file_names if name.endswith(SUFFIX))


def shipped(name: str) -> Storm:
    """Return the scenario with this name."""
    return from_toml((FOLDER / f"{name}{SUFFIX}").read_text(encoding="utf-8"), name)
