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

_arguments: dict[str, dict[str, st.SearchStrategy[Any]]] = {}
_names: list[str] = []


def step(*, often: int = 1, **arguments: st.SearchStrategy[Any]) -> Callable[[Method], Method]:
    """Let a method be a step, with such arguments; `often` is how often beside the others."""

    def mark(method: Method) -> Method:
        _arguments[method.__name__] = arguments
        _names.extend([method.__name__] * often)
        return method

    return mark


def any_step() -> st.SearchStrategy[Step]:
    """Any of the steps that there are."""
    return st.sampled_from(_names).flatmap(_step)


def _step(name: str) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(name), st.fixed_dictionaries(_arguments[name]))
