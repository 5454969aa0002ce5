"""The policy that users get: core's value, plus the methods that need time, chance and files."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from os import PathLike, fspath
from random import Random
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tarry.call import aio
from tarry.call.matching import On
from tarry.call.plan import OnResult, Until, plan_of
from tarry.call.shape import Shape, name_of, shape_of
from tarry.call.world import world
from tarry.call.wrap import wrap
from tarry.core.policy import Policy as PurePolicy
from tarry.core.policy import waits
from tarry.errors import DecorationError, PolicyFormatError
from tarry.observe.stream import Listener

if TYPE_CHECKING:
    from tarry.call.plan import Budget, Circuit

Returned = TypeVar("Returned")


class Policy(PurePolicy, init=False):
    """When to try again, how long to wait, and when to stop. All durations are seconds.

    A frozen value: hashable, comparable, and the same in code, JSON and TOML. `attempts` counts
    every try, the first included. No wait is begun that would end later than `within` seconds
    after the start. None is no limit, for either. `attempt_timeout` cuts off an attempt of an async
    function; `retry_after` and `statuses` are for HTTP; `nested` lets it retry inside a retry.

    >>> Policy(attempts=3, within=20).attempts
    3
    """

    def call(  # noqa: PLR0913  what `retry` takes, and the function's own arguments
        self,
        function: Callable[..., Returned],
        /,
        *args: Any,  # noqa: ANN401  they are the function's
        on: On | None = None,
        until: Until | None = None,
        on_result: OnResult | None = None,
        budget: "Budget | None" = None,
        breaker: "Circuit | None" = None,
        hooks: Listener | Iterable[Listener] = (),
        **kwargs: Any,  # noqa: ANN401  they are the function's
    ) -> Returned:
        """Call the function with this policy: `retry` without a decorator."""
        if shape_of(function) is not Shape.FUNCTION:
            raise DecorationError(f"call takes a plain function, not {function!r}; see acall")
        plan = plan_of(
            self,
            on=on,
            until=until,
            on_result=on_result,
            budget=budget,
            breaker=breaker,
            hooks=hooks,
            otherwise=name_of(function),
        )
        return wrap(plan, function)(*args, **kwargs)

    async def acall(  # noqa: PLR0913  what `retry` takes, and the function's own arguments
        self,
        function: Callable[..., Awaitable[Returned]],
        /,
        *args: Any,  # noqa: ANN401  they are the function's
        on: On | None = None,
        until: Until | None = None,
        on_result: OnResult | None = None,
        budget: "Budget | None" = None,
        breaker: "Circuit | None" = None,
        hooks: Listener | Iterable[Listener] = (),
        **kwargs: Any,  # noqa: ANN401  they are the function's
    ) -> Returned:
        """Await the function with this policy; any function that returns an awaitable works."""
        plan = plan_of(
            self,
            on=on,
            until=until,
            on_result=on_result,
            budget=budget,
            breaker=breaker,
            hooks=hooks,
            otherwise=name_of(function),
        )
        return await aio.retry_call(plan, function)(*args, **kwargs)

    def waits(self, seed: int | str | bytes | None = None) -> Iterator[float]:
        """Yield the waits it would take, without end; the same seed gives the same waits.

        >>> from itertools import islice
        >>> list(islice(Policy(jitter=NoJitter()).waits(), 3))
        [0.1, 0.2, 0.4]
        """
        draw = world.draw if seed is None else Random(seed).random  # noqa: S311  jitter
        return waits(self, iter(draw, None))

    def to_dict(self) -> dict[str, object]:
        """Return the policy as plain data, ready for JSON or TOML."""
        from tarry.core import codec  # noqa: PLC0415  few programs need it

        return codec.to_dict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, object]) -> Self:
        """Return the policy that a document describes; raise PolicyFormatError if it is invalid."""
        from tarry.core import codec  # noqa: PLC0415  few programs need it

        return codec.from_dict(document, cls)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a policy file: `.toml`, or `.json`."""
        from tarry.core import text  # noqa: PLC0415  tomllib and json, which few programs need here

        name = fspath(path)
        suffix = name[name.rfind(".") :].lower()
        if suffix not in text.PARSERS:
            wanted = f"a name that ends in {' or '.join(text.PARSERS)}"
            raise PolicyFormatError("file name", name, wanted)
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  pathlib is slow to import
            try:
                written = file.read()
            except UnicodeDecodeError as error:
                raise PolicyFormatError("file", name, "text in UTF-8") from error
        return cls.from_dict(text.PARSERS[suffix](written))
