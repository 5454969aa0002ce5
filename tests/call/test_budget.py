import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tarry
from tarry import Breaker, BudgetSpent, Fixed, Policy, PolicyError, Quota, Ratio
from tarry.core.budget import RatioRule
from tarry.core.window import Window

QUICK = Policy(backoff=Fixed(0), attempts=3)


@pytest.fixture
def hectic() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(count: int, work: Callable[[int], None]) -> None:
    ready = Barrier(count)

    def start(number: int) -> None:
        ready.wait(20)
        work(number)

    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(start, number) for number in range(count)]:
            done.result()


def granted(ratio: Ratio) -> int:
    """How many retries a ratio still grants."""
    for count in range(10_000):
        try:
            ratio.spend()
        except BudgetSpent:
            return count
    return 10_000


# Quota


def test_a_quota_starts_full_and_shows_what_is_left() -> None:
    quota = Quota(name="mine")
    assert (quota.rule.capacity, quota.rule.cost, quota.rule.pay_back) == (500, 5, 1)
    assert quota.tokens == 500
    quota.spend()
    assert quota.tokens == 495
    assert repr(quota) == "<Quota 'mine': 495 of 500 tokens>"


def test_a_quota_refuses_nonsense() -> None:
    with pytest.raises(PolicyError, match=r"'quota\.cost' is 6; it must be at most the capacity"):
        Quota(5, 6)


def test_a_quota_can_be_used_by_hand() -> None:
    quota = Quota(10, 5, 1, name="mine")
    quota.call(0)
    quota.spend()
    assert quota.take(0)
    assert not quota.take(0)
    with pytest.raises(BudgetSpent, match="retry budget 'mine' is spent") as caught:
        quota.spend()
    assert caught.value.name == "mine"
    for _ in range(4):
        quota.succeed(retried=False)
    assert not quota.take(0)
    quota.succeed(retried=False)
    assert quota.take(0)
    quota.succeed(retried=True)
    assert quota.tokens == 5


def test_a_full_quota_takes_no_more() -> None:
    quota = Quota(10, 5, 3)
    quota.succeed(retried=True)
    assert quota.tokens == 10
    quota.spend()
    quota.succeed(retried=False)
    quota.succeed(retried=False)
    assert quota.tokens == 10


@pytest.mark.usefixtures("hectic")
def test_64_threads_lose_no_token() -> None:
    """Every call fails at first; one in four fails for good, and only these cost."""
    quota = Quota(100_000, 5, 0)
    retried = tarry.retry(QUICK.replace(attempts=2), on=ConnectionError, budget=quota)
    attempts: list[int] = []

    @retried
    def works(tries: list[int], *, for_good: bool) -> None:
        tries.append(1)
        attempts.append(1)
        if for_good or len(tries) == 1:
            raise ConnectionError

    def work(number: int) -> None:
        for call in range(60):
            if (number + call) % 4 == 0:
                with pytest.raises(ConnectionError):
                    works([], for_good=True)
            else:
                works([], for_good=False)

    in_threads(64, work)
    assert len(attempts) == 2 * 64 * 60
    assert quota.tokens == 100_000 - 5 * (64 * 60 // 4)


@pytest.mark.usefixtures("hectic")
def test_64_threads_get_no_more_out_of_a_quota_than_is_in_it() -> None:
    quota, attempts = Quota(500, 5, 1), list[int]()

    @tarry.retry(QUICK.replace(attempts=9), on=ConnectionError, budget=quota)
    def works() -> None:
        attempts.append(1)
        raise ConnectionError

    def work(_: int) -> None:
        for _ in range(10):
            with pytest.raises(ConnectionError):
                works()

    in_threads(64, work)
    assert len(attempts) == 640 + 100
    assert quota.tokens == 0


# Ratio


def test_a_ratio_shows_what_it_allows() -> None:
    assert repr(Ratio(name="mine")) == "<Ratio 'mine': 0.1 of the calls in 10 s>"
    assert Ratio().rule == RatioRule(0.1, 10, 10)


def test_a_ratio_refuses_nonsense() -> None:
    with pytest.raises(PolicyError, match=r"'ratio\.ratio' is 2; it must be a number from 0 to 1"):
        Ratio(2)


def test_a_ratio_can_be_used_by_hand(push: Callable[[float], None]) -> None:
    ratio = Ratio(0.1, 10, 2, name="mine")
    assert granted(ratio) == 2
    with pytest.raises(BudgetSpent, match="retry budget 'mine' is spent"):
        ratio.spend()
    for _ in range(50):
        ratio.call(1_000)
    ratio.succeed(retried=True)
    ratio.succeed(retried=False)
    assert granted(ratio) == 3
    push(9.6)
    assert granted(ratio) == 0
    push(1)
    assert granted(ratio) == 2


@given(
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.integers(0, 3),
    st.lists(st.tuples(st.floats(0, 3), st.integers(0, 9), st.integers(0, 4)), max_size=50),
)
def test_a_ratio_does_what_the_pure_steps_say(
    share: float, bootstrap: int, life: list[tuple[float, int, int]]
) -> None:
    """Though it counts calls aside, and adds them up when it has to decide."""
    ratio, rule, counted, now = (
        Ratio(share, 5, bootstrap),
        RatioRule(share, 5, bootstrap),
        Window(),
        9.0,
    )
    for step, calls, retries in life:
        now += step
        for _ in range(calls):
            ratio.call(now)
            counted = rule.call(counted, 1, rule.slot(now))
        for _ in range(retries):
            spent = rule.spend(counted, rule.slot(now))
            assert ratio.take(now) is (spent is not None)
            counted = spent or counted


@pytest.mark.usefixtures("hectic", "still_time")
def test_64_threads_lose_no_call_and_no_retry_of_a_ratio() -> None:
    ratio, attempts = Ratio(0.1, 10, 10), list[int]()

    @tarry.retry(QUICK, on=ConnectionError, budget=ratio)
    def works() -> None:
        attempts.append(1)
        raise ConnectionError

    def work(_: int) -> None:
        for _ in range(50):
            with pytest.raises(ConnectionError):
                works()

    in_threads(64, work)
    calls = 64 * 50
    made = len(attempts) - calls
    assert made <= calls // 10
    assert made + granted(ratio) == calls // 10  # to the last one


@pytest.mark.usefixtures("hectic")
def test_64_threads_never_get_more_than_the_ratio_in_any_window(
    push: Callable[[float], None],
) -> None:
    """Step by step through time, with a storm of calls in each step."""
    share, window, bootstrap = 0.2, 2.0, 3
    ratio = Ratio(share, window, bootstrap)
    attempts: list[int] = []
    calls_at, retries_at = list[float](), list[float]()
    loads = [3, 40, 0, 1, 9, 30, 30, 2, 0, 0, 0, 5, 20, 1, 1]
    now = 0.0

    @tarry.retry(QUICK, on=ConnectionError, budget=ratio)
    def works() -> None:
        attempts.append(1)
        raise ConnectionError

    for load in loads:

        def work(number: int, load: int = load) -> None:
            for _ in range(load if number % 2 else load // 2):
                with pytest.raises(ConnectionError):
                    works()

        attempts.clear()
        in_threads(64, work)
        calls = 32 * load + 32 * (load // 2)
        calls_at += [now] * calls
        retries_at += [now] * (len(attempts) - calls)
        recent_calls = sum(at > now - window for at in calls_at)
        recent_retries = sum(at > now - window for at in retries_at)
        assert recent_retries <= max(bootstrap, share * recent_calls)
        push(0.33)
        now += 0.33
    assert len(retries_at) > 500


@pytest.mark.anyio
@pytest.mark.usefixtures("still_time")
async def test_1000_tasks_on_one_policy_breaker_and_budget_count_exactly() -> None:
    """A call in five is in vain: its retries cost; all others pay for themselves."""
    quota, breaker = Quota(100_000, 5, 0), Breaker(failures=None, rate=0.9, minimum=100_000)
    ratio = Ratio(1.0, 10, 0)
    made = [0] * 1_000

    async def works(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        made[number] += 1
        if number % 5 == 0 or made[number] == 1:
            raise ConnectionError

    with_quota = tarry.retry(QUICK, on=ConnectionError, budget=quota, breaker=breaker)(works)
    with_ratio = tarry.retry(QUICK, on=ConnectionError, budget=ratio, breaker=breaker)(works)

    async def call(number: int) -> None:
        try:
            await (with_quota if number < 500 else with_ratio)(number)
        except ConnectionError:
            assert number % 5 == 0

    async with anyio.create_task_group() as group:
        for number in range(1_000):
            group.start_soon(call, number)
    assert made[:500] == [3 if number % 5 == 0 else 2 for number in range(500)]
    assert quota.tokens == 100_000 - 100 * 2 * 5
    retries = sum(made[500:]) - 500
    assert retries + granted(ratio) == 500
    assert breaker.phase == "closed"


@pytest.mark.parametrize("budget", [Quota(), Ratio()])
def test_the_defaults_are_those_of_the_rule(budget: Quota | Ratio) -> None:
    assert budget.rule == type(budget.rule)()
