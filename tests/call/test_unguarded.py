from tarry import Breaker, Policy, Quota
from tarry.call.plan import plan_of
from tarry.call.unguarded import guards_of
from tarry.core.breaker import FAILED

POLICY = Policy()


class EmptyQuota(Quota):
    """A budget that looks like a False when it is spent."""

    def __bool__(self) -> bool:
        return False


def test_who_has_no_guard_has_one_that_lets_everything_through() -> None:
    breaker, budget = guards_of(plan_of(POLICY, on=OSError))
    assert breaker.retry_at is None
    ticket = breaker.enter()
    breaker.leave(ticket, FAILED, 0.0)
    budget.call(0.0)
    assert all(budget.take(0.0) for _ in range(1_000))
    budget.succeed(retried=True)


def test_a_guard_is_a_guard_whatever_it_looks_like() -> None:
    quota, breaker = EmptyQuota(), Breaker()
    assert guards_of(plan_of(POLICY, on=OSError, budget=quota, breaker=breaker)) == (breaker, quota)
