import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest

from tarry import (
    Breaker,
    DecorationError,
    Failure,
    Policy,
    PolicyError,
    Quota,
    Ratio,
)
from tarry.call.matching import never
from tarry.call.plan import plan_of
from tarry.call.scope import ONCE
from tarry.core.policy import Policy as PurePolicy

POLICY = Policy()


def told(_: object) -> None:
    pass


async def told_later(_: object) -> bool:
    return True


def test_nothing_is_retried_unless_named() -> None:
    with pytest.raises(DecorationError) as caught:
        plan_of(POLICY)
    assert str(caught.value) == (
        "nothing is retried unless named: give on= (exceptions), until= or on_result="
    )


def test_a_plan_says_all_there_is_to_know() -> None:
    budget, breaker = Quota(), Breaker()
    plan = plan_of(
        POLICY, on=OSError, budget=budget, breaker=breaker, hooks=told, name="fetch", scoped=False
    )
    assert (plan.policy, plan.name, plan.scoped) == (POLICY, "fetch", False)
    assert plan.budget is budget
    assert plan.breaker is breaker
    assert plan.hooks == (told,)
    assert plan.judge(OSError()) == Failure()
    assert (plan.until, plan.on_result) == (None, None)


def test_a_plan_only_for_results_judges_no_exception() -> None:
    assert plan_of(POLICY, until=bool).judge is never


@pytest.mark.parametrize(("within", "number"), [(None, math.inf), (45, 45.0), (0, 0.0)])
def test_no_limit_is_a_number_too(within: float | None, number: float) -> None:
    assert plan_of(Policy(within=within), on=OSError).within == number


@pytest.mark.parametrize(("attempts", "first"), [(1, ONCE), (2, 1), (None, 1)])
def test_one_attempt_makes_no_retrying_scope(attempts: int | None, first: int) -> None:
    assert plan_of(Policy(attempts=attempts), on=OSError).first == first


@pytest.mark.parametrize(
    ("named", "light", "takes_any"),
    [
        ({"on": OSError}, True, True),
        ({"on": OSError, "name": "x", "scoped": False}, True, True),
        ({"on": OSError, "until": bool}, False, False),
        ({"on_result": bool}, False, False),
        ({"on": OSError, "budget": Ratio()}, False, True),
        ({"on": OSError, "breaker": Breaker()}, False, True),
        ({"on": OSError, "hooks": told}, False, True),
        ({"on": OSError, "hooks": []}, True, True),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_a_plan_is_light_when_nobody_cares_for_a_first_success(
    named: dict[str, Any], *, light: bool, takes_any: bool
) -> None:
    plan = plan_of(POLICY, **named)
    assert (plan.light, plan.takes_any_result) == (light, takes_any)


def test_hooks_are_one_function_or_many_of_any_iterable() -> None:
    def many() -> Iterator[Any]:
        yield told
        yield print

    assert plan_of(POLICY, on=OSError, hooks=many()).hooks == (told, print)
    assert plan_of(POLICY, on=OSError).hooks == ()


@pytest.mark.parametrize(
    ("wrong", "field", "wanted"),
    [
        ({"budget": 5}, "budget", "a Quota or a Ratio"),
        ({"budget": Breaker()}, "budget", "a Quota or a Ratio"),
        ({"budget": Quota}, "budget", "a Quota or a Ratio"),
        ({"breaker": 5}, "breaker", "a Breaker"),
        ({"breaker": Quota()}, "breaker", "a Breaker"),
        ({"breaker": Breaker}, "breaker", "a Breaker"),
        ({"hooks": (told, 5)}, "hooks[1]", "a plain function"),
        ({"hooks": told_later}, "hooks[0]", "a plain function"),
        ({"until": 5}, "until", "a plain function"),
        ({"until": told_later}, "until", "a plain function"),
        ({"on_result": told_later}, "on_result", "a plain function"),
        ({"on_result": "ok"}, "on_result", "a plain function"),
        ({"policy": 5}, "policy", "Policy"),
        ({"policy": "Policy"}, "policy", "Policy"),
        ({"name": 5}, "name", "a string of valid Unicode"),
        ({"scoped": 1}, "scoped", "true or false"),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else None,
)
def test_a_plan_refuses_what_cannot_work(wrong: dict[str, Any], field: str, wanted: str) -> None:
    with pytest.raises(PolicyError) as caught:
        plan_of(**{"policy": POLICY, "on": OSError, **wrong})
    assert (caught.value.field, caught.value.wanted) == (field, wanted)


def test_a_policy_of_the_core_will_do() -> None:
    assert plan_of(PurePolicy(attempts=2), on=OSError).policy == Policy(attempts=2)


def test_a_deep_copy_of_a_plan_has_guards_of_its_own() -> None:
    plan = plan_of(POLICY, on=OSError, breaker=Breaker(name="db"))
    other = copy.deepcopy(plan)
    assert other.policy == plan.policy
    assert other.breaker is not plan.breaker


def test_a_cut_off_needs_the_scope() -> None:
    with pytest.raises(PolicyError, match="'scoped' is False; it must be true with an attempt_tim"):
        plan_of(Policy(attempt_timeout=1), on=OSError, scoped=False)


def test_a_call_goes_by_its_name_or_the_policys_or_what_it_is_called_otherwise() -> None:
    named = Policy(name="orders")
    assert plan_of(named, on=OSError, name="billing", otherwise="block").name == "billing"
    assert plan_of(named, on=OSError, otherwise="block").name == "orders"
    assert plan_of(POLICY, on=OSError, otherwise="block").name == "block"


class FalseCheck:
    """A predicate that looks like a False, and would have to be awaited."""

    def __bool__(self) -> bool:
        return False

    async def __call__(self, _: object) -> bool:
        return True


def test_a_predicate_is_checked_whatever_it_looks_like() -> None:
    with pytest.raises(PolicyError, match=r"'until' is .* it must be a plain function"):
        plan_of(POLICY, until=FalseCheck())  # type: ignore[arg-type]
