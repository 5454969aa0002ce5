"""Which exceptions are retried: `on=` turned into one function."""

from collections.abc import Callable

from tarry.call.shape import is_coroutine_function
from tarry.core.outcome import Failure
from tarry.errors import PolicyError, Refused

Predicate = Callable[[Exception], bool | Failure]
Named = type[Exception] | Predicate
On = Named | tuple[Named, ...] | list[Named] | set[Named] | frozenset[Named]
Judge = Callable[[Exception], Failure | None]

PLAIN_FAILURE = Failure()
_PREDICATE_FORMS = (
    "a subclass of Exception, a function that takes the exception and returns True, False or a "
    "Failure, or a tuple of these (cancellation and exit are never retried)"
)


def judge_of(on: On) -> Judge:
    """Return a function that maps an exception to its failure, or to None if it is not retried."""
    types, predicates = _types_and_predicates(on)
    refusals = tuple(kind for kind in types if issubclass(kind, Refused))

    def judge(error: Exception) -> Failure | None:
        if isinstance(error, types):
            if not isinstance(error, Refused):
                return PLAIN_FAILURE
            # An open circuit is retried only if `on` names it: on=Exception must not hammer on it.
            if isinstance(error, refusals):
                return Failure(retry_after=getattr(error, "retry_in", None))
        for predicate in predicates:
            if answer := predicate(error):
                return answer if isinstance(answer, Failure) else PLAIN_FAILURE
        return None

    return judge


def never(error: Exception) -> Failure | None:  # noqa: ARG001  a Judge like any other
    """Retry no exception: only the result is judged."""
    return None


def _types_and_predicates(on: On) -> tuple[tuple[type[Exception], ...], tuple[Predicate, ...]]:
    """Sort the entries of `on` into types and predicates."""
    named: tuple[object, ...] = (on,)
    if isinstance(on, (tuple, list, set, frozenset)):
        named = tuple(on)
    if not named:
        raise PolicyError("on", on, _PREDICATE_FORMS)
    types: tuple[type[Exception], ...] = ()
    predicates: tuple[Predicate, ...] = ()
    for condition in named:
        # A class is a class even if its metaclass makes it look like something to call.
        if isinstance(condition, type):
            types = (*types, _retryable(condition))
        elif callable(condition) and not is_coroutine_function(condition):
            predicates = (*predicates, condition)
        else:
            raise PolicyError("on", condition, _PREDICATE_FORMS)
    return types, predicates


def _retryable(kind: type) -> type[Exception]:
    if not issubclass(kind, Exception):
        raise PolicyError("on", kind, _PREDICATE_FORMS)
    return kind
