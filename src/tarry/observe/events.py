"""Events as values; listeners choose the words. They never contain the arguments of calls."""

from tarry.core.breaker import Phase
from tarry.core.outcome import Outcome, Why
from tarry.core.value import Value


class Attempted(Value):
    """An attempt ended, successfully or not."""

    name: str
    attempt: int
    took: float
    outcome: Outcome
    error: BaseException | None


class Retrying(Value):
    """After attempt number `attempt`, another one follows in `delay` seconds."""

    name: str
    attempt: int
    delay: float
    outcome: Outcome
    error: BaseException | None


class GivenUp(Value):
    """No further attempt is made; `attempts` is 0 if a breaker refused even the first."""

    name: str
    attempts: int
    elapsed: float
    why: Why
    retry_after: float | None
    error: BaseException | None


class Succeeded(Value):
    """The call succeeded, at the first attempt or later."""

    name: str
    attempts: int
    elapsed: float


class BreakerMoved(Value):
    """A breaker changed its phase; it refuses until `retry_at`, which is None if it is closed."""

    name: str
    before: Phase
    after: Phase
    retry_at: float | None


Event = Attempted | Retrying | GivenUp | Succeeded | BreakerMoved
