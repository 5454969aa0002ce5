"""Makes a failing history small: leaves out steps that it does not need to break the same rule.

Without a step, all later ones run at other times and with other random numbers. So a smaller
history is tried with some other seeds too: it is complete in itself, and any seed that fails is
good.
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from tests.simulation.steps import AnyStep, Conditions, History, Send

SEEDS = 3
"""With how many seeds a smaller history is tried."""
OTHER = 1_000_003
"""How far apart these seeds are."""

Fails = Callable[[History], bool]


class Shrinker:
    """Finds a small history that fails too, within `runs` runs."""

    def __init__(self, fails: Fails, runs: int = 400) -> None:
        self._fails, self._left = fails, runs

    def shrink(self, history: History) -> History:
        """Return the smallest failing history that was found."""
        while self._left > 0:
            smaller = self._without_steps(history)
            smaller = self._simpler(smaller)
            if smaller == history:
                break
            history = smaller
        return history

    def _failing(self, candidate: History) -> History | None:
        """Return the candidate with a seed that lets it fail, if one was found."""
        for number in range(SEEDS):
            if self._left <= 0:
                return None
            self._left -= 1
            seed = candidate.conditions.seed + number * OTHER
            tried = History(replace(candidate.conditions, seed=seed), candidate.steps)
            if self._fails(tried):
                return tried
        return None

    def _without_steps(self, history: History) -> History:
        size = max(1, len(history.steps) // 2)
        while size and self._left > 0:
            place = 0
            while place < len(history.steps):
                steps = history.steps[:place] + history.steps[place + size :]
                smaller = self._failing(History(history.conditions, steps))
                if smaller is None:
                    place += size
                else:
                    history = smaller
            size //= 2
        return history

    def _simpler(self, history: History) -> History:
        for make in (_plainer_conditions, _fewer_messages):
            for candidate in make(history):
                found = self._failing(candidate)
                if found is not None:
                    return found
        return history


def _plainer_conditions(history: History) -> Iterator[History]:
    plain = Conditions(seed=history.conditions.seed)
    names = ("lag", "any_order", "lost_nudges", "drifts", "api_skew", "probed_at_end", "workers")
    for name in names:
        value = getattr(plain, name)
        if getattr(history.conditions, name) != value:
            conditions = replace(history.conditions, **{name: value})
            yield History(conditions, history.steps)


def _fewer_messages(history: History) -> Iterator[History]:
    for place, step in enumerate(history.steps):
        if isinstance(step, Send) and step.count > 1:
            fewer: AnyStep = replace(step, count=step.count // 2)
            yield History(
                history.conditions, (*history.steps[:place], fewer, *history.steps[place + 1 :])
            )
