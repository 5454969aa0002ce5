"""Steps of a state machine, all of them available in every example.

Hypothesis disables some of a machine's rules in each example, usually many. With rules that build
on each other, hardly anything would happen. So the machine has one rule: do a step.
"""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st

Step = tuple[str, dict[str, object]]
"""The name of a method, and its arguments."""
Method = TypeVar("Method", bound=Callable[..., None])

_arguments: dict[str, dict[str, st.SearchStrategy[object]]] = {}
_names: list[str] = []


def step(*, often: int = 1, **arguments: st.SearchStrategy[object]) -> Callable[[Method], Method]:
    """Make a method a step with these arguments; `often` is its frequency relative to others."""

    def mark(method: Method) -> Method:
        _arguments[method.__name__] = arguments
        _names.extend([method.__name__] * often)
        return method

    return mark


def any_step() -> st.SearchStrategy[Step]:
    """Return a strategy that gives any of the steps."""
    return st.sampled_from(_names).flatmap(_step)


def _step(name: str) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(name), st.fixed_dictionaries(_arguments[name]))
