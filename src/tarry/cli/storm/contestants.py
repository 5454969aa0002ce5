"""Which policies a storm compares: those on the command line, or else those of the scenario."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tarry.cli.input.policy_file import BadFile, read_policy
from tarry.core.codec import hint
from tarry.core.text import PARSERS
from tarry.errors import ScenarioError
from tarry.sim.run import PACED, Contestant
from tarry.sim.scenario.storm import Storm


def contestants(storm: Storm, typed: Sequence[str]) -> tuple[Contestant, ...]:
    """Find each policy that was typed: a name in the scenario, `paced`, or a file."""
    chosen = tuple(_numbered(_contestant(storm, name) for name in typed)) or storm.contestants
    if not chosen:
        wanted = "in the scenario as [policies.NAME], or on the command line with --policy"
        raise BadFile(f"{storm.name}: 'policies' is missing; there must be some, {wanted}")
    for contestant in chosen:
        try:
            storm.scenario.refuse(contestant)
        except ScenarioError as error:
            raise BadFile(f"{storm.name}: {error}") from None
    return chosen


def _contestant(storm: Storm, typed: str) -> Contestant:
    """Return the contestant of this name or in this policy file; BadFile if there is none."""
    own = {contestant.name: contestant for contestant in storm.contestants}
    if typed in own:
        return own[typed]
    if typed == PACED:
        return Contestant(PACED, None)
    path = Path(typed)
    if path.suffix.lower() not in PARSERS:
        names = (*own, PACED)
        wanted = f"a .toml or .json file, or one of {', '.join(names)}{hint(typed, names)}"
        raise BadFile(f"'--policy' is {typed!r}; it must be {wanted}")
    policy = read_policy(path)
    return storm.contestant(policy.name or path.stem, policy)


def _numbered(chosen: Iterable[Contestant]) -> Iterable[Contestant]:
    """Make equal names distinct: the second one gets the number 2."""
    counts: Counter[str] = Counter()
    for contestant in chosen:
        counts[contestant.name] += 1
        number = counts[contestant.name]
        yield (
            contestant if number == 1 else contestant.replace(name=f"{contestant.name} ({number})")
        )
