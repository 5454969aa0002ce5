"""Plants each bug alone, and counts the histories until the checker finds it."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from tests.simulation.generate import Frame, generate
from tests.simulation.planted.registry import BUGS
from tests.simulation.run import run


class Found(Struct, frozen=True, kw_only=True):
    """After how many histories a bug was found, and by which rule; None if it was not."""

    name: str
    story: str
    histories: int
    rule: str | None
    seed: int | None = None


def hunt(names: Iterable[str], first: int, most: int, frame: Frame) -> Iterator[Found]:
    """Look for each of these bugs in at most `most` histories, starting with seed `first`."""
    for name in names:
        yield _hunt(name, first, most, frame)


def _hunt(name: str, first: int, most: int, frame: Frame) -> Found:
    kind = BUGS[name]
    for number in range(most):
        history = generate(first + number, frame)
        rules = run(history, kind()).rules
        if rules and (rules := rules - run(history).rules):  # those that the bug alone breaks
            return Found(
                name=name,
                story=kind.story,
                histories=number + 1,
                rule=min(rules),
                seed=first + number,
            )
    return Found(name=name, story=kind.story, histories=most, rule=None)
