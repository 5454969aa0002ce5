"""A lane's own limits: its requests in flight, and how many of them may be retries."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.pace import Phase
from tarry.service.dispatch.lane.allowance import (
    FIRST,
    HANGS,
    RETRY_PAUSE,
    RETRY_RULE,
    WIDEST,
    Allowance,
)
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.settings import Limits
from tarry.service.store.kinds import AllDeliveriesOf
from tarry.service.wire.exchange import Answer
from tarry.testing.samples import NOON
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import (
    VirtualService,
    status,
    takes_all_but,
    virtual_service,
)

# --- Requests in flight -------------------------------------------------------------------------


def test_an_endpoint_hangs_that_answers_nothing_for_long() -> None:
    allowance = Allowance(NOON)
    assert not allowance.hangs(NOON)
    allowance.sent(NOON)
    allowance.sent(NOON + HANGS)
    assert not allowance.hangs(NOON + HANGS)
    assert allowance.hangs(NOON + HANGS + 0.1)
    allowance.ended()
    assert not allowance.hangs(NOON + 60)


def test_an_endpoint_that_hangs_gets_one_request_at_a_time_until_it_answers() -> None:
    allowance = Allowance(NOON)
    for _ in range(2):
        allowance.sent(NOON)
    allowance.ended(timed_out=True)
    assert allowance.hangs(NOON + 15)  # the other request is still in flight
    allowance.ended(timed_out=True)
    assert not allowance.hangs(NOON + 15)
    allowance.sent(NOON + 15)
    assert allowance.hangs(NOON + 15)
    allowance.ended()
    allowance.sent(NOON + 16)
    assert not allowance.hangs(NOON + 16)


def test_an_endpoint_that_is_usually_slow_hangs_later() -> None:
    allowance = Allowance(NOON)
    for _ in range(100):
        allowance.sent(NOON)
        allowance.ended()
        allowance.passed(3.0)
    allowance.sent(NOON)
    assert not allowance.hangs(NOON + 11)
    assert allowance.hangs(NOON + 13)


def test_requests_from_before_an_outage_was_over_do_not_make_it_hang() -> None:
    allowance = Allowance(NOON)
    allowance.sent(NOON)
    allowance.expect_answers()
    assert not allowance.hangs(NOON + 60)
    allowance.sent(NOON + 60)
    assert allowance.hangs(NOON + 70)


def lane_of(service: VirtualService, endpoint: Endpoint) -> Lane:
    held = service.dispatcher.shards.owned[service.application.shard]
    return held.lanes[endpoint.lane]


@virtually
async def test_an_endpoint_of_which_nothing_is_known_is_not_given_much_at_once() -> None:
    async with virtual_service() as service:
        hangs = Answer(15.0, status=200)
        await service.add_endpoint("a.example", lambda _request, _now: hangs)
        await service.add(1000)
        await asyncio.sleep(1)
        assert service.sender.in_air == FIRST


@virtually
async def test_one_that_takes_all_is_given_more_and_more() -> None:
    async with virtual_service() as service:
        slow = Answer(0.5, status=200)
        await service.add_endpoint("a.example", lambda _request, _now: slow)
        await service.add(5000)
        await asyncio.sleep(10)
        assert service.sender.most_in_air == Limits().lane_in_flight


@virtually
async def test_an_endpoint_that_was_enabled_again_is_given_what_waits_at_a_pace() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.add(500)
        await asyncio.sleep(5)
        await service.change(endpoint, standing=Standing.ENABLED)
        await asyncio.sleep(0.2)
        assert lane_of(service, endpoint).gate.phase is Phase.PACED
        assert len(service.sender.sent) < 20
        await service.until_delivered(endpoint, within=60)


@virtually
async def test_what_the_old_place_refused_is_not_ended_by_the_first_answer_of_a_new_one() -> None:
    async with virtual_service() as service:
        refused: list[str] = []
        script = takes_all_but(refused, status(404))
        endpoint = await service.add_endpoint("old.example", script)
        service.sender.scripts["new.example"] = script
        refused += await service.add()
        await asyncio.sleep(1)
        await service.add()  # which is taken
        await asyncio.sleep(1)
        await service.move(endpoint, "https://new.example/in")
        while service.sender.sent[-1].host == "old.example":  # noqa: ASYNC110  time is virtual
            await asyncio.sleep(1)
        await asyncio.sleep(1)
        ((_, delivery),) = await service.store.read(AllDeliveriesOf(refused[0]))
        assert (delivery.state, delivery.tries) == (State.WAITING, 2)


def allowance(most: int = 100, rate: float | None = None, fifo_from: float = 0.0) -> Allowance:
    """The allowance of a lane that no request was sent from."""
    new = Allowance(fifo_from)
    new.limit(most, rate)
    return new


def test_each_success_allows_one_more_up_to_the_limit_of_the_owner() -> None:
    limits = allowance(most=FIRST + 1)
    allowed = []
    for _ in range(3):
        allowed.append(limits.most_in_flight(Phase.CLOSED))
        limits.passed(0.05)
    assert allowed == [FIRST, FIRST + 1, FIRST + 1]
    assert allowance(most=2).most_in_flight(Phase.CLOSED) == 2


def test_each_failure_after_another_halves_what_goes_together_but_one_always_goes() -> None:
    limits = allowance()
    allowed = []
    for _ in range(6):
        limits.failed(NOON, by_chance=False)
        allowed.append(limits.most_in_flight(Phase.CLOSED))
    assert allowed == [8, 4, 2, 1, 1, 1]
    assert limits.most_in_flight(Phase.PACED) == 100


def test_failures_by_chance_and_single_ones_lower_nothing() -> None:
    limits = allowance()
    for _ in range(5):
        limits.failed(NOON, by_chance=True)
    limits.passed(0.05)
    limits.failed(NOON, by_chance=False)
    assert limits.most_in_flight(Phase.CLOSED) == FIRST + 1
    assert limits.failures_in_a_row == 1


def test_an_endpoint_that_moved_is_trusted_like_a_new_one() -> None:
    limits = allowance()
    limits.passed(0.05)
    limits.failed(NOON, by_chance=False)
    limits.start_over()
    assert (limits.failures_in_a_row, limits.most_in_flight(Phase.CLOSED)) == (0, FIRST)
    limits.failed(NOON, by_chance=False)
    assert limits.most_in_flight(Phase.CLOSED) == FIRST


def test_timeouts_do_not_spread_requests_or_make_an_endpoint_count_as_usually_slow() -> None:
    limits = allowance(most=2)
    for _ in range(4):
        limits.sent(NOON)
        limits.ended(timed_out=True)
        limits.failed(NOON, by_chance=False)
    limits.sent(NOON)
    assert limits.free_at(NOON, Phase.CLOSED, 2, fifo=False) <= NOON
    assert limits.hangs(NOON + HANGS + 0.1)


def test_at_a_new_address_the_latency_of_the_old_one_is_forgotten() -> None:
    limits = allowance(most=2)
    limits.sent(NOON)
    limits.ended()
    for _ in range(20):
        limits.passed(15.0)
    assert limits.free_at(NOON, Phase.CLOSED, 2, fifo=False) == NOON + WIDEST
    limits.start_over()
    assert limits.free_at(NOON, Phase.CLOSED, 2, fifo=False) <= NOON


def test_it_is_known_when_a_request_was_last_sent_and_when_one_failed() -> None:
    limits = allowance()
    assert not limits.was_used
    limits.sent(NOON)
    assert (limits.was_used, limits.sent_at, limits.in_flight) == (True, NOON, 1)
    limits.failed(NOON, by_chance=True)
    assert limits.has_failed_since(NOON)
    assert not limits.has_failed_since(NOON + 1)
    limits.ended()
    assert limits.in_flight == 0


def test_requests_to_a_slow_endpoint_are_spread_over_half_the_time_of_an_answer() -> None:
    limits = allowance()
    for _ in range(100):
        limits.sent(NOON)
        limits.ended()
        limits.passed(4.0)
    wait = limits.free_at(NOON, Phase.CLOSED, 8, fifo=False) - NOON
    assert wait == pytest.approx(4 / 16, rel=1e-3)
    assert limits.free_at(NOON + 1, Phase.CLOSED, 8, fifo=False) == NOON + 1
    assert limits.free_at(NOON, Phase.PACED, 8, fifo=False) == NOON


def test_a_request_that_goes_alone_is_not_delayed_because_an_earlier_answer_took_long() -> None:
    limits = allowance(most=1)
    limits.failed(NOON, by_chance=False)
    limits.sent(NOON)
    limits.ended()
    limits.passed(12.9)
    assert limits.free_at(NOON, Phase.CLOSED, 1, fifo=True) == NOON


def test_requests_to_a_quick_endpoint_or_a_new_one_are_not_spread() -> None:
    limits = allowance()
    limits.sent(NOON)
    assert limits.free_at(NOON, Phase.CLOSED, 8, fifo=False) == NOON
    for _ in range(100):
        limits.sent(NOON)
        limits.ended()
        limits.passed(0.09)
    assert limits.free_at(NOON, Phase.CLOSED, 8, fifo=False) == NOON


def test_after_a_row_of_failures_the_gate_may_open_before_the_next_request() -> None:
    limits = allowance()
    limits.take_over_failures(RULE.failures - 2)
    limits.failed(NOON, by_chance=True)
    assert limits.free_at(NOON, Phase.CLOSED, 8, fifo=False) == NOON
    limits.failed(NOON, by_chance=True)
    assert limits.free_at(NOON, Phase.CLOSED, 8, fifo=False) == NOON + RULE.tick
    assert limits.free_at(NOON, Phase.OPEN, 8, fifo=False) == NOON


def test_only_an_ordered_lane_waits_for_the_requests_of_its_last_owner() -> None:
    limits = allowance(fifo_from=NOON + 30)
    assert limits.free_at(NOON, Phase.CLOSED, 8, fifo=True) == NOON + 30
    assert limits.free_at(NOON, Phase.CLOSED, 8, fifo=False) == NOON


def test_requests_sent_under_an_old_rate_count_under_a_new_one_and_without_one_none_waits() -> None:
    limits = allowance(rate=0.1)
    limits.sent(NOON)
    limits.limit(100, 0.2)
    assert NOON + 5 < limits.free_at(NOON, Phase.PACED, 8, fifo=False) < NOON + 6
    limits.limit(100, None)
    assert limits.free_at(NOON, Phase.PACED, 8, fifo=False) == NOON


# --- Retries ------------------------------------------------------------------------------------


def spent(allowance: Allowance, now: float, tries: int = 1000) -> int:
    """How many retries go at once."""
    return sum(allowance.spend_retry(now) for _ in range(tries))


def sent(count: int) -> Allowance:
    allowance = Allowance(NOON)
    for _ in range(count):
        allowance.sent(NOON)
    return allowance


@pytest.mark.parametrize(
    ("sends", "retries"), [(0, 20), (1, 20), (40, 20), (42, 21), (100, 50), (101, 50)]
)
def test_retries_are_half_of_what_was_sent_or_a_few(sends: int, retries: int) -> None:
    assert spent(sent(sends), NOON) == retries


def test_what_went_before_the_window_does_not_count() -> None:
    allowance = sent(100)
    assert spent(allowance, NOON) == 50
    assert spent(allowance, NOON + RETRY_RULE.window - 2 * RETRY_PAUSE) == 0
    assert spent(allowance, NOON + RETRY_RULE.window + 2 * RETRY_PAUSE) == 20


def test_a_send_counts_from_the_next_retry_on() -> None:
    allowance = sent(100)
    spent(allowance, NOON)
    allowance.sent(NOON)
    assert not allowance.spend_retry(NOON)
    allowance.sent(NOON)
    assert allowance.spend_retry(NOON)
    assert not allowance.spend_retry(NOON)


def test_a_retry_that_was_turned_away_goes_when_it_has_paused_often_enough() -> None:
    allowance = sent(0)
    spent(allowance, NOON)
    pauses = next(n for n in range(100) if allowance.spend_retry(NOON + n * RETRY_PAUSE))
    assert pauses * RETRY_PAUSE == pytest.approx(RETRY_RULE.window + RETRY_PAUSE)


@given(
    st.lists(st.tuples(st.floats(0, 3), st.integers(0, 40), st.integers(0, 60)), max_size=60),
)
def test_in_no_window_more_goes_again_than_the_budget_has(
    steps: list[tuple[float, int, int]],
) -> None:
    allowance, now = Allowance(NOON), NOON
    sends, retries = list[float](), list[float]()
    for pause, fresh, again in steps:
        now += pause
        for _ in range(fresh):
            allowance.sent(now)
            sends.append(now)
        retries += [now] * spent(allowance, now, again)
        lately = [at for at in retries if at > now - RETRY_RULE.window]
        # What was sent is counted when a retry asks: at the latest then it is in the window.
        counted = [at for at in sends if at > now - 2 * RETRY_RULE.window]
        assert len(lately) <= max(RETRY_RULE.bootstrap, RETRY_RULE.ratio * len(counted))
