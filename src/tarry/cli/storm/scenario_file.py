"""Read the scenario that a command names, or end the command with a one-line error."""

from pathlib import Path

from tarry.cli.input.policy_file import BadFile
from tarry.core.codec import hint
from tarry.errors import ScenarioError
from tarry.sim.scenario.reader import load
from tarry.sim.scenario.storm import Storm
from tarry.sim.shipped import names, shipped


def read_storm(typed: str) -> Storm:
    """Read a scenario: one that comes with tarry, or a TOML file."""
    shipped_names = names()
    if typed in shipped_names:
        return shipped(typed)
    path = Path(typed)
    if path.suffix.lower() != ".toml":
        also = hint(typed, shipped_names)
        wanted = f"a .toml file, or a name that `tarry storm list` shows{also}"
        raise BadFile(f"'SCENARIO' is {typed!r}; it must be {wanted}")
    try:
        return load(path)
    except ScenarioError as error:
        raise BadFile(f"{path}: {error}") from None
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}; name a scenario that can be read") from None
