"""No more requests in a second, at a time, or while an endpoint is down than is allowed."""

import pytest

from tarry.service.model.delivery import State
from tests.simulation.checker.hand_made import (
    HERE,
    TWO,
    accepted,
    added,
    answered,
    delivery,
    ending,
    endpoint,
    requested,
    rules,
)
from tests.simulation.log import ApplicationAdded, Asked, EndpointChanged, Entry, Fault


def burst(count: int, apart: float, took: float = 0.01, begins: float = 5.0) -> list[Entry]:
    log: list[Entry] = []
    for number in range(count):
        at = begins + apart * number
        message = f"msg_{number}"
        log += [accepted(0.5, message), requested(at, number, message)]
        log.append(answered(at + took, number))
    return log


def check(log: list[Entry]) -> set[str]:
    messages = {entry.message for entry in log if hasattr(entry, "message")}
    return rules(log, ending(*(delivery(str(message)) for message in messages)))


def test_a_rate_holds_in_every_second() -> None:
    assert check([added(rate=5.0), *burst(20, 0.2)]) == set()
    assert check([added(rate=5.0), *burst(6, 0.15)]) == {"too fast"}
    assert check([added(rate=5.0), *burst(5, 0.001)]) == set()


def test_a_rate_below_one_holds_for_longer() -> None:
    assert check([added(rate=0.5), *burst(2, 1.5)]) == {"too fast"}
    assert check([added(rate=0.5), *burst(4, 2.0)]) == set()


def test_a_new_rate_takes_a_moment() -> None:
    assert check([added(), added(4.5, rate=1.0), *burst(3, 0.1)]) == set()
    assert check([added(), added(1.0, rate=1.0), *burst(3, 0.1)]) == {"too fast"}
    # It reached the worker between 4 and 6 s, so only requests since then are spaced by it.
    assert check([added(), added(4.0, rate=1.0), *burst(5, 0.25)]) == set()
    assert check([added(), added(4.0, rate=1.0), *burst(6, 0.25)]) == {"too fast"}


def test_two_owners_after_a_clock_step_may_break_a_rate() -> None:
    step = Fault(at=4.9, until=20, kind="clock step")
    assert check([added(rate=5.0), step, *burst(6, 0.15)]) == set()


def test_the_endpoints_of_an_application_share_its_rate() -> None:
    other = endpoint(id="ep_there", lane=2)
    log: list[Entry] = [added(), EndpointChanged(0.0, other), ApplicationAdded(0.0, "app_one", 5.0)]
    for number in range(8):
        at, message, where = 5.0 + 0.15 * number, f"msg_{number}", (HERE, other.id)[number % 2]
        log += [accepted(0.5, message, endpoints=(where,))]
        log += [requested(at, number, message, endpoint=where), answered(at + 0.01, number)]
    assert "too fast" in check(log)
    assert "too fast" not in check([entry for entry in log if not is_added(entry)])


def is_added(entry: Entry) -> bool:
    return isinstance(entry, ApplicationAdded)


def test_no_more_are_on_their_way_at_a_time_than_allowed() -> None:
    assert check([added(concurrency=2), *burst(6, 0.1, took=0.15)]) == set()
    assert check([added(concurrency=2), *burst(6, 0.1, took=0.25)]) == {"too many at a time"}


def probes(count: int, apart: float = 1.0, took: float = 0.1, status: int = 500) -> list[Entry]:
    log: list[Entry] = [added(), accepted(0.5)]
    for number in range(count):
        at = 5.0 + apart * number
        log += [requested(at, number, number=number + 1, is_down=True)]
        log.append(answered(at + took, number, status))
    return [*log, requested(99, 99), answered(99.1, 99)]


def test_an_endpoint_that_is_down_is_not_tried_all_the_time() -> None:
    assert check(probes(20)) == set()
    assert check(probes(30)) == {"too many probes"}


def test_where_many_fail_by_chance_it_takes_longer_to_notice_that_an_endpoint_is_down() -> None:
    before: list[Entry] = []
    for number in range(40):
        at = 1.0 + number / 10
        before += [requested(at, 100 + number), answered(at, 100 + number, (200, 500)[number % 2])]
    assert "too many probes" not in check([*before, *probes(34)])
    assert "too many probes" in check([*before, *probes(44)])


def test_an_endpoint_that_hangs_is_known_to_be_down_when_a_request_has_timed_out() -> None:
    assert "too many probes" not in check(probes(60, apart=0.1, took=15.0))
    assert "too many probes" in check(probes(60, apart=0.1, took=0.1))


def test_an_endpoint_is_known_to_be_down_by_the_first_answer_not_the_first_request() -> None:
    hanging: list[Entry] = [requested(4.9, 98, number=0, is_down=True), answered(19.9, 98, None)]
    assert "too many probes" in check([*hanging, *probes(60, apart=0.1, took=0.1)])


@pytest.mark.parametrize(("status", "most"), [(429, 40), (500, 20)])
def test_one_that_throttles_beside_others_of_its_host_is_tried_longer(
    status: int, most: int
) -> None:
    others: list[Entry] = [accepted(0.5, TWO), requested(6.0, 98, TWO, endpoint="ep_beside")]
    for count in (most, most + 10):
        log = [*probes(count, status=status), *others, answered(6.1, 98)]
        assert ("too many probes" in check(log)) == (count > most)
    assert "too many probes" in check(probes(30, status=status))


@pytest.mark.parametrize(("failed_at", "most"), [(1.0, 40), (-6.0, 20)])
def test_one_that_fails_first_while_its_host_recovers_is_tried_longer(
    failed_at: float, most: int
) -> None:
    others: list[Entry] = [
        requested(failed_at, 97, TWO, endpoint="ep_beside", is_down=True),
        answered(failed_at + 0.1, 97, 500),
        accepted(0.5, TWO),
        requested(6.0, 98, TWO, endpoint="ep_beside"),
        answered(6.1, 98),
    ]
    for count in (most, most + 10):
        assert ("too many probes" in check([*probes(count), *others])) == (count > most)


def refused(
    count: int, *, accepts: str = "b", accepts_at: float = 5.5, attempts: int = 30
) -> set[str]:
    """Return the broken rules if an endpoint accepts one event type and refuses another."""
    policy = f'{{"version": 1, "attempts": {attempts}}}'
    log: list[Entry] = [added(policy=policy), accepted(0.5, event_type="a")]
    log.append(accepted(0.5, TWO, event_type=accepts))
    log += [requested(accepts_at, 99, TWO), answered(accepts_at + 0.1, 99)]
    for number in range(count):
        at = 5.0 + number
        log += [requested(at, number, number=number + 1, is_down=True)]
        log.append(answered(at + 0.1, number, 404))
    log.sort(key=lambda entry: entry.at)
    return rules(log, ending(delivery(state=State.READY), delivery(TWO)))


def test_the_policy_retries_an_event_type_that_the_endpoint_never_accepted() -> None:
    assert refused(30) == set()
    assert refused(30, accepts="a") == {"too many probes"}
    assert refused(30, accepts_at=1.0) == {"too many probes"}
    assert refused(28, attempts=5) == {"too many probes"}


def test_people_may_have_it_tried() -> None:
    wishes = [Asked(at=10.0 + number, wish="probe", endpoint=HERE) for number in range(3)]
    assert check([*probes(30), *wishes]) == set()
