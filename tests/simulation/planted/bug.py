"""A bug that can be planted between the dispatcher and the store, the sender or its settings.

A bug tampers with calls to the store, with answers of endpoints or with settings. To the checker
that looks as if the dispatcher, the store or the sender were wrong. It is planted at their
interfaces, so that it outlives changes behind them.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from tarry.service.explain import Explanation
from tarry.service.model.settings import Limits
from tarry.service.wire.exchange import Answer

if TYPE_CHECKING:
    from tarry.service.store.memory.data import Data

Commit = Callable[..., Any]
"""Makes a call to the store, with whatever arguments it is given."""


class Bug:
    """No bug at all: everything is passed on as it is. One is made for each history.

    A method with the name of one of the store's is called in its place.
    """

    story = "nothing is wrong"

    def __init__(self) -> None:
        self.data: Data
        """The data of the store in memory, for bugs of the store itself."""

    def tamper(self, method: str, commit: Commit) -> Commit:
        """Return the function that replaces a method of the store."""
        tampered = getattr(self, method, None)
        return commit if tampered is None else partial(tampered, commit)

    def heard(self, answer: Answer) -> Answer | None:
        """Return an endpoint's answer as a worker gets it; None if it gets no answer."""
        return answer

    def limits(self, limits: Limits) -> Limits:
        """Return the limits that a worker uses."""
        return limits

    def explained(self, told: Explanation) -> Explanation:
        """Return the explanation of a delivery."""
        return told

    def planted(self) -> AbstractContextManager[object]:
        """Return a context in which other parts of the service are wrong."""
        return nullcontext()
