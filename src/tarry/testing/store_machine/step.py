"""Steps that are all there in every example.

Hypothesis leaves some of the rules of a machine out of each example, mostly many; with rules that
build on each other hardly anything would happen. So the machine has one rule: do a step.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

Step = tuple[str, dict[str, Any]]
"""The name of a method, and its arguments."""
Method = TypeVar("Method", bound=Callable[..., None])

_steps: list[st.SearchStrategy[Step]] = []


def step(*, often: int = 1, **arguments: st.SearchStrategy[Any]) -> Callable[[Method], Method]:
    """Let a method be a step, with such arguments; `often` is how often beside the others."""

    def mark(method: Method) -> Method:
        name, given = st.just(method.__name__), st.fixed_dictionaries(arguments)
        _steps.extend(st.tuples(name, given) for _ in range(often))  # the very same counts once
        return method

    return mark


def any_step() -> st.SearchStrategy[Step]:
    """Any of the steps that there are."""
    return st.one_of(_steps)
