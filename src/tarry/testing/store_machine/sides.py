"""Two stores that get the same calls and must give the same answers.

Each store numbers its lanes as it likes. So the numbers in calls to the real store, and in its
answers, are translated from and to the model's numbers.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import fields, replace

from tarry.errors import ServiceError
from tarry.service.model.lane import Fetched
from tarry.service.model.task import Task
from tarry.service.store.contract import Store

Answer = TypeVar("Answer")
Value = TypeVar("Value")


class Lane(int):
    """A lane's number outside a field named `lane`."""


class Run(Protocol):
    """Runs a coroutine to its end, on the event loop of its store."""

    def __call__(self, call: Coroutine[Any, Any, Answer], /) -> Answer:
        """Return the coroutine's result, or raise its error."""


class Side:
    """One of the two stores. `to_store` translates lane numbers to its own, `to_model` back."""

    def __init__(self, store: Store, *, same_numbers: bool) -> None:
        self.store = store
        self._same_numbers = same_numbers
        self._to_store: dict[int, int] = {}
        self._to_model: dict[int, int] = {}

    def learn(self, lane: int, number: int) -> None:
        """Record the number that a lane of the model has here."""
        self._to_store[lane], self._to_model[number] = number, lane

    def to_store(self, value: Value) -> Value:
        """Translate a value of the model into this store's numbers."""
        return value if self._same_numbers else _renumber(value, self._to_store)

    def to_model(self, value: Value) -> Value:
        """Translate a value of this store into the model's numbers."""
        return value if self._same_numbers else _renumber(value, self._to_model)


class Sides:
    """The model and a real store."""

    def __init__(self, model: Store, real: Store, run: Run) -> None:
        self.model = Side(model, same_numbers=True)
        self.real = Side(real, same_numbers=False)
        self.agree = True
        self._run = run

    def ask(self, call: Callable[[Side], Awaitable[Answer]]) -> Answer | ServiceError:
        """Return the answer that both give, or the error that both raise."""
        model, real = (self._run(_answer(side, call)) for side in (self.model, self.real))
        if isinstance(model, Struct) and "lane" in model.__struct_fields__:
            self._learn_lane(model, real)
        translated = self.real.to_model(real)
        self.agree = self.agree and _plain(translated) == _plain(model)
        assert self.agree, f"the model says {model!r}, the store {translated!r}"  # noqa: S101  it is a test
        return model

    def _learn_lane(self, model: Any, real: Any) -> None:  # noqa: ANN401  anything with a lane
        """Remember which lane of the store a lane of the model is."""
        lane = getattr(real, "lane", None)
        if isinstance(lane, int):
            self.real.learn(model.lane, lane)


async def _answer(side: Side, call: Callable[[Side], Awaitable[Answer]]) -> Answer | ServiceError:
    """Call one of the two stores; return the answer or the error."""
    try:
        return await call(side)
    except ServiceError as error:
        return error


def _renumber(value: Any, numbers: Mapping[int, int]) -> Any:  # noqa: ANN401  any value
    """Return the value with other numbers for its lanes; an unknown number stays."""
    match value:
        case Lane():
            return Lane(numbers.get(value, value))
        case Fetched():
            return Fetched(
                _renumber(value.due, numbers),
                {numbers.get(lane, lane): at for lane, at in value.next_due_at.items()},
                {numbers.get(lane, lane): count for lane, count in value.added.items()},
                {numbers.get(lane, lane): version for lane, version in value.versions.items()},
            )
        case Struct():
            changed = {
                field.name: numbers.get(old, old)
                if field.name == "lane"
                else _renumber(old, numbers)
                for field in fields(value)
                if (old := getattr(value, field.name)) is not None
            }
            return replace(value, **changed)
        case list() | tuple() | set():
            return type(value)(_renumber(item, numbers) for item in value)
        case dict():
            return {_renumber(key, numbers): _renumber(old, numbers) for key, old in value.items()}
        case _:
            return value


def _plain(value: Any) -> Any:  # noqa: ANN401  any value
    """Return the value in a comparable form: errors by their type and text, without cursors."""
    match value:
        case ServiceError():
            return type(value).__name__, value.args
        case Task():
            return replace(value, cursor="")
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
