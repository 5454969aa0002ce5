"""What is judged alike for every client; that it reaches them is in `test_adapters`."""

from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from multidict import CIMultiDict

import tarry
from tarry import AttemptTimedOut, Failure, Kind, Policy, Statuses
from tarry.call.http import incoming
from tarry.call.http.body import Rewound, stay
from tarry.call.http.exchange import Client, Exchange, Headers, Terms
from tarry.call.http.fault import Fault
from tarry.call.scope import attempt_number
from tarry.errors import PolicyError
from tests.call.http.conftest import PushedClock


def client(*, takes_limit: bool = True) -> Client:
    return Client(
        name="fake",
        status_of=lambda response: response.status,
        fault_of=lambda error: Fault(Kind.DNS, sent=False) if isinstance(error, OSError) else None,
        discard=lambda _: None,
        takes_limit=takes_limit,
    )


def terms_of(policy: Policy, *, takes_limit: bool = True, **settings: Any) -> Terms:  # noqa: ANN401
    return Terms(client(takes_limit=takes_limit), policy, **settings)


def exchange(method: str = "GET", policy: Policy | None = None, **headers: str) -> Exchange:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Exchange(terms_of(policy or Policy()), method, named, Rewound(stay))


def response(status: int, **headers: str) -> SimpleNamespace:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return SimpleNamespace(status=status, headers=named)


def test_a_failure_carries_what_the_server_asked_for() -> None:
    found = exchange().failure_of_response(response(503, retry_after="3"))
    assert found == Failure(Kind.THROTTLED, retry_after=3.0)


@pytest.mark.parametrize("status", [200, 304, 404, 422])
def test_an_answer_is_no_failure(status: int) -> None:
    assert exchange().failure_of_response(response(status)) is None


def test_a_server_s_failure_that_is_final_is_a_failure_all_the_same() -> None:
    policy = Policy(statuses=Statuses(never=[501]))
    found = exchange(policy=policy).failure_of_response(response(501))
    assert found == Failure(Kind.PERMANENT)


def test_an_empty_key_is_no_key() -> None:
    with_key = exchange("POST", idempotency_key="k").failure_of_response(response(503))
    without = exchange("POST", idempotency_key="").failure_of_response(response(503))
    assert with_key is not None
    assert with_key.repeatable
    assert without is not None
    assert not without.repeatable


def test_a_fault_that_was_not_sent_may_be_repeated() -> None:
    assert exchange("POST").failure_of_error(OSError()) == Failure(Kind.DNS)


def test_an_attempt_that_was_cut_off_may_have_been_sent() -> None:
    found = exchange("POST").failure_of_error(AttemptTimedOut(1.0))
    assert found == Failure(Kind.TIMEOUT, repeatable=False)


def test_an_exception_of_another_kind_is_not_judged() -> None:
    assert exchange().failure_of_error(ValueError()) is None


def test_the_limit_is_the_attempt_s_or_the_time_that_is_left(clock: PushedClock) -> None:
    terms = terms_of(Policy(attempt_timeout=3))
    limits: list[float | None] = []

    @tarry.retry(Policy(within=10), on=OSError)
    def work() -> None:
        limits.append(terms.limit())
        clock.now += 8
        limits.append(terms.limit())
        clock.now += 8
        limits.append(terms.limit())

    work()
    assert limits == [3.0, 2.0, 0.001]  # a client takes 0 for no limit
    assert terms.limit() == 3.0
    assert terms_of(Policy()).limit() is None


def test_a_client_that_takes_the_limit_is_not_cut_off_as_well() -> None:
    policy = Policy(attempt_timeout=3)
    assert terms_of(policy).plan.policy.attempt_timeout is None
    assert terms_of(policy, takes_limit=False).plan.policy.attempt_timeout == 3.0


@pytest.mark.parametrize(
    "headers",
    [
        {"tarry-attempt": "2"},
        {"Accept": "*/*", "TARRY-ATTEMPT": " 2 "},
        httpx.Headers({"Tarry-Attempt": "2"}),
        CIMultiDict({"Tarry-Attempt": "2"}),
    ],
)
def test_a_request_that_comes_in_is_part_of_its_caller_s_attempt(headers: Headers) -> None:
    with incoming(headers, trusted=True):
        assert attempt_number() == 2
    assert attempt_number() == 0


@pytest.mark.parametrize(
    "value", ["", "0", "-1", "two", "1.5", "1e3", "٣", "1" * 10, "1" * 5000, "1, 2", "0x1"]
)
def test_nonsense_from_a_caller_changes_nothing(value: str) -> None:
    with incoming({"tarry-attempt": value}, trusted=True):
        assert attempt_number() == 0
    with incoming({}, trusted=True):
        assert attempt_number() == 0


def test_a_caller_who_is_not_trusted_changes_nothing() -> None:
    with incoming({"tarry-attempt": "2"}, trusted=False):
        assert attempt_number() == 0


def test_who_is_trusted_has_to_be_said() -> None:
    with (
        pytest.raises(PolicyError, match="trusted"),
        incoming({}, trusted=cast("bool", "127.0.0.1")),
    ):
        pass


def test_what_is_called_for_a_retrying_caller_is_not_retried() -> None:
    calls = []

    @tarry.retry(Policy(attempts=3), on=ConnectionError)
    def fetch() -> None:
        calls.append(attempt_number())
        raise ConnectionError

    with incoming({"tarry-attempt": "2"}, trusted=True), pytest.raises(ConnectionError):
        fetch()
    assert calls == [2]


def test_an_error_inside_ends_the_caller_s_scope() -> None:
    with (
        pytest.raises(ValueError, match="mine"),
        incoming({"tarry-attempt": "2"}, trusted=True),
    ):
        raise ValueError("mine")
    assert attempt_number() == 0
