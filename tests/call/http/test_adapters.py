"""One suite for every adapter: they differ in their clients, not in what they do."""

import socket
from typing import BinaryIO

import pytest

import tarry
from tarry import Failure, Fixed, Kind, NoJitter, Policy, RetryAfter, Statuses, Why
from tarry.observe import Attempted, Event, GivenUp, Retrying, Succeeded
from tests.call.http.callers import Caller
from tests.call.http.conftest import PushedClock
from tests.call.http.server import Server

POLICY = Policy(backoff=Fixed(1.0), jitter=NoJitter(), attempts=3)
SETTINGS = {"policy": POLICY}
KEY = {"Idempotency-Key": "once"}
LIMIT = 1.0  # in real time, for attempts that take too long: long enough for a busy machine


def test_a_failed_request_is_sent_again(caller: Caller, server: Server, clock: PushedClock) -> None:
    url = server.script("/", 503, server.answer(200, b"here"))
    reply = caller("GET", url, settings=SETTINGS)
    assert (reply.status, reply.body) == (200, b"here")
    assert clock.waits == [1.0]


def test_without_settings_the_library_s_defaults_count(
    caller: Caller, server: Server, clock: PushedClock
) -> None:
    assert caller("GET", server.script("/", 503)).status == 503
    assert len(server.requests) == 5
    assert len(clock.waits) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 422, 301, 204])
@pytest.mark.usefixtures("clock")
def test_an_answer_is_an_answer(caller: Caller, server: Server, status: int) -> None:
    assert caller("GET", server.script("/", status), settings=SETTINGS).status == status
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 504, 599])
@pytest.mark.usefixtures("clock")
def test_these_are_tried_again(caller: Caller, server: Server, status: int) -> None:
    assert caller("GET", server.script("/", status, 200), settings=SETTINGS).status == 200


@pytest.mark.usefixtures("clock")
def test_the_policy_says_which_statuses_are_tried_again(caller: Caller, server: Server) -> None:
    policy = POLICY.replace(statuses=Statuses(retry=[404], never=[503]))
    assert caller("GET", server.script("/a", 404, 200), settings={"policy": policy}).status == 200
    assert caller("GET", server.script("/b", 503, 200), settings={"policy": policy}).status == 503


@pytest.mark.usefixtures("clock")
def test_the_last_response_comes_back_and_can_be_read(caller: Caller, server: Server) -> None:
    url = server.script("/", 503, 503, server.answer(503, b"sorry", x_told="why"), 200)
    reply = caller("GET", url, settings=SETTINGS)
    assert (reply.status, reply.body, reply.headers["x-told"]) == (503, b"sorry", "why")
    assert len(server.requests) == 3


@pytest.mark.usefixtures("clock")
def test_the_last_exception_comes_out_itself_with_a_note(caller: Caller, server: Server) -> None:
    url = server.script("/", server.dropped())
    with pytest.raises(caller.dropped) as caught:
        caller("GET", url, settings=SETTINGS)
    notes = "\n".join(caught.value.__notes__)
    assert "tarry: gave up after 3 attempts" in notes
    assert Why.ATTEMPTS in notes
    assert len(server.requests) == 3


def outcomes(events: list[Event]) -> list[object]:
    return [event.outcome for event in events if isinstance(event, Attempted)]


@pytest.mark.usefixtures("clock")
def test_a_host_that_is_not_found_is_told_from_other_failures(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_found(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", not_found)
    events: list[Event] = []
    with pytest.raises(caller.refused):
        caller("POST", "http://nowhere.test/", settings={**SETTINGS, "hooks": events.append})
    assert outcomes(events) == [Failure(Kind.DNS)] * 3


@pytest.mark.usefixtures("clock")
def test_a_failure_of_tls_is_told_from_other_failures(caller: Caller, server: Server) -> None:
    events: list[Event] = []
    url = server.url("/").replace("http:", "https:")
    with pytest.raises(caller.refused):
        caller("GET", url, settings={**SETTINGS, "hooks": events.append})
    assert outcomes(events) == [Failure(Kind.TLS)] * 3


@pytest.mark.usefixtures("clock")
def test_a_garbled_answer_is_tried_again(caller: Caller, server: Server) -> None:
    url = server.script("/", server.garbage(), 200)
    assert caller("GET", url, settings=SETTINGS).status == 200


@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        ("7", 7.0),
        ("7.5", 7.5),
        ("0", 0.0),
        ("Thu, 01 Jan 1970 00:17:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
        ("-3", 0.0),
        ("soon", None),
    ],
)
def test_retry_after_is_the_least_wait(  # noqa: PLR0913, PLR0917  each a fixture
    caller: Caller,
    server: Server,
    clock: PushedClock,
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    wait: float | None,
) -> None:
    monkeypatch.setattr("tarry.call.world.world.draw", lambda: 0.0)
    url = server.script("/", server.answer(503, retry_after=asked), 200)
    assert caller("GET", url, settings=SETTINGS).status == 200
    assert clock.waits == ([1.0] if wait is None else [wait] if wait else [])


def test_retry_after_is_spread_upwards(
    caller: Caller,
    server: Server,
    clock: PushedClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tarry.call.world.world.draw", lambda: 0.5)
    caller("GET", server.script("/", server.answer(429, retry_after="8"), 200), settings=SETTINGS)
    assert clock.waits == [10.0]


def test_a_longer_wait_than_the_policy_allows_gives_the_response_at_once(
    caller: Caller, server: Server, clock: PushedClock
) -> None:
    policy = POLICY.replace(retry_after=RetryAfter(at_most=60))
    url = server.script("/", server.answer(503, b"later", retry_after="61"), 200)
    reply = caller("GET", url, settings={"policy": policy})
    assert (reply.status, reply.body, reply.headers["retry-after"]) == (503, b"later", "61")
    assert clock.waits == []


@pytest.mark.parametrize(("option", "waits"), [({}, [1.0]), ({"rate_limit_headers": True}, [9.0])])
def test_rate_limit_headers_count_if_wanted(  # noqa: PLR0913, PLR0917  each a fixture
    caller: Caller,
    server: Server,
    clock: PushedClock,
    monkeypatch: pytest.MonkeyPatch,
    option: dict[str, bool],
    waits: list[float],
) -> None:
    monkeypatch.setattr("tarry.call.world.world.draw", lambda: 0.0)
    limited = server.answer(429, ratelimit='"default";r=0;t=9')
    caller("GET", server.script("/", limited, 200), settings={**SETTINGS, **option})
    assert clock.waits == waits


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_what_may_have_been_done_is_not_done_again(
    caller: Caller, server: Server, clock: PushedClock, method: str
) -> None:
    reply = caller(method, server.script("/a", server.answer(503, b"no")), settings=SETTINGS)
    assert (reply.status, reply.body) == (503, b"no")
    with pytest.raises(caller.dropped) as caught:
        caller(method, server.script("/b", server.dropped()), settings=SETTINGS)
    assert any(Why.NOT_REPEATABLE in note for note in caught.value.__notes__)
    assert len(server.requests) == 2
    assert clock.waits == []


@pytest.mark.parametrize("method", ["PUT", "DELETE", "HEAD", "OPTIONS"])
@pytest.mark.usefixtures("clock")
def test_what_can_be_done_twice_is_done_again(caller: Caller, server: Server, method: str) -> None:
    url = server.script("/", server.dropped(), 503, 200)
    assert caller(method, url, settings=SETTINGS).status == 200


def test_a_refused_connection_is_tried_again_whatever_the_method(
    caller: Caller, server: Server, clock: PushedClock, file: BinaryIO
) -> None:
    url = server.script("/", 200)
    server.close_door()
    clock.during = server.open_door
    body = caller.body("generator", file)
    assert caller("POST", url, settings=SETTINGS, **body).status == 200
    assert [seen.body for seen in server.requests] == [b"all of the body"]
    assert clock.waits == [1.0]


@pytest.mark.usefixtures("clock")
def test_a_connection_that_stays_refused_raises_the_client_s_own_error(
    caller: Caller, server: Server
) -> None:
    url = server.script("/", 200)
    server.close_door()
    with pytest.raises(caller.refused) as caught:
        caller("GET", url, settings=SETTINGS)
    assert any("3 attempts" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    "kind", ["bytes", "json", "form", "multipart", "multipart of a file", "file"]
)
@pytest.mark.usefixtures("clock")
def test_with_an_idempotency_key_key_and_body_are_sent_again(
    caller: Caller, server: Server, file: BinaryIO, kind: str
) -> None:
    url = server.script("/", server.dropped(), 503, 200)
    reply = caller("POST", url, settings=SETTINGS, headers=KEY, **caller.body(kind, file))
    assert reply.status == 200
    for seen in server.requests:
        del seen.headers["tarry-attempt"]
    assert server.requests == [server.requests[0]] * 3
    assert server.requests[0].headers["idempotency-key"] == "once"
    assert b"all" in server.requests[0].body


@pytest.mark.usefixtures("clock")
def test_a_generator_is_not_sent_twice(caller: Caller, server: Server, file: BinaryIO) -> None:
    url = server.script("/a", server.answer(503, b"no"), 200)
    reply = caller("PUT", url, settings=SETTINGS, **caller.body("generator", file))
    assert (reply.status, reply.body) == (503, b"no")
    url = server.script("/b", server.dropped(), 200)
    with pytest.raises(caller.dropped) as caught:
        caller("PUT", url, settings=SETTINGS, **caller.body("generator", file))
    assert any(Why.NOT_REPEATABLE in note for note in caught.value.__notes__)
    assert [seen.body for seen in server.requests] == [b"all of the body"] * 2


@pytest.mark.usefixtures("clock")
def test_the_server_is_told_which_attempt_it_is(caller: Caller, server: Server) -> None:
    caller("GET", server.script("/", 503), settings=SETTINGS)
    assert server.numbers == ["1", "2", "3"]


@pytest.mark.usefixtures("clock")
def test_the_server_is_told_nothing_where_nobody_retries(caller: Caller, server: Server) -> None:
    url = server.script("/", 503)
    caller("POST", url, settings=SETTINGS)  # nobody would repeat it
    caller("GET", url, settings={"policy": POLICY.replace(attempts=1)})
    with tarry.disabled():
        caller("GET", url, settings=SETTINGS)
    assert server.numbers == [None, None, None]


def test_inside_a_retry_there_is_one_attempt_each(
    caller: Caller, server: Server, clock: PushedClock
) -> None:
    url = server.script("/", 503)

    @tarry.retry(POLICY, on_result=lambda reply: reply.status == 503)
    def fetch() -> object:
        return caller("POST", url, settings=SETTINGS)

    with pytest.raises(tarry.GaveUp) as caught:
        fetch()
    assert caught.value.attempts == 3
    assert server.numbers == ["1", "2", "3"]
    assert clock.waits == [1.0, 1.0]


@pytest.mark.usefixtures("clock")
def test_inside_a_retry_a_broken_connection_is_one_attempt_too(
    caller: Caller, server: Server
) -> None:
    url = server.script("/", server.dropped())

    @tarry.retry(POLICY, on=caller.dropped)
    def fetch() -> object:
        return caller("GET", url, settings=SETTINGS)

    with pytest.raises(caller.dropped):
        fetch()
    assert server.numbers == ["1", "2", "3"]


@pytest.mark.usefixtures("clock")
def test_a_policy_may_ask_to_retry_inside_a_retry(caller: Caller, server: Server) -> None:
    url = server.script("/", 503)
    settings = {"policy": POLICY.replace(attempts=2, nested=True)}

    @tarry.retry(POLICY, on_result=lambda reply: reply.status == 503)
    def fetch() -> object:
        return caller("GET", url, settings=settings)

    with pytest.raises(tarry.GaveUp):
        fetch()
    assert server.numbers == ["1", "2"] * 3


def test_where_retrying_is_turned_off_there_is_one_attempt(
    caller: Caller, server: Server, clock: PushedClock
) -> None:
    with tarry.disabled():
        assert caller("GET", server.script("/a", 503), settings=SETTINGS).status == 503
        with pytest.raises(caller.dropped):
            caller("GET", server.script("/b", server.dropped()), settings=SETTINGS)
    assert len(server.requests) == 2
    assert clock.waits == []


@pytest.mark.usefixtures("clock")
def test_a_breaker_opens_on_failures_and_then_nothing_is_sent(
    caller: Caller, server: Server
) -> None:
    breaker = tarry.Breaker(failures=4, open_for=30, jitter=0)
    settings = {**SETTINGS, "breaker": breaker}
    url = server.script("/", server.answer(503, b"no"))
    assert caller("GET", url, settings=settings).status == 503
    reply = caller("GET", url, settings=settings)  # opens at its first attempt
    assert (reply.status, reply.body) == (503, b"no")
    assert len(server.requests) == 4
    with pytest.raises(tarry.CircuitOpen):
        caller("GET", url, settings=settings)
    assert len(server.requests) == 4


@pytest.mark.usefixtures("clock")
def test_a_breaker_counts_broken_connections_and_posts(caller: Caller, server: Server) -> None:
    breaker = tarry.Breaker(failures=2)
    settings = {"policy": POLICY.replace(attempts=1), "breaker": breaker}
    caller("POST", server.script("/a", 500), settings=settings)
    with pytest.raises(caller.dropped):
        caller("POST", server.script("/b", server.dropped()), settings=settings)
    assert breaker.phase == "open"


@pytest.mark.usefixtures("clock")
def test_a_breaker_takes_a_no_for_an_answer(caller: Caller, server: Server) -> None:
    breaker = tarry.Breaker(failures=2)
    settings = {"policy": POLICY.replace(attempts=1), "breaker": breaker}
    url = server.script("/", 500, 404, 500, 404)
    for _ in range(4):
        caller("GET", url, settings=settings)
    assert breaker.phase == "closed"


def test_a_circuit_that_opens_during_the_wait_is_said_to_be_open(
    caller: Caller, server: Server, clock: PushedClock
) -> None:
    breaker = tarry.Breaker()
    clock.during = breaker.trip
    events: list[Event] = []
    settings = {**SETTINGS, "breaker": breaker, "hooks": events.append}
    with pytest.raises(tarry.CircuitOpen):
        caller("GET", server.script("/", 503), settings=settings)
    assert len(server.requests) == 1
    assert isinstance(events[-1], GivenUp)
    assert events[-1].why is Why.CIRCUIT


def test_a_circuit_that_opens_after_an_exception_leaves_that_exception(
    caller: Caller, server: Server, clock: PushedClock
) -> None:
    breaker = tarry.Breaker()
    clock.during = breaker.trip
    url = server.script("/", server.dropped())
    with pytest.raises(caller.dropped) as caught:
        caller("GET", url, settings={**SETTINGS, "breaker": breaker})
    assert any(Why.CIRCUIT in note for note in caught.value.__notes__)


@pytest.mark.usefixtures("clock")
def test_a_spent_budget_ends_the_retries(caller: Caller, server: Server) -> None:
    settings = {**SETTINGS, "budget": tarry.Quota(capacity=10, cost=5)}
    url = server.script("/", server.answer(503, b"no"))
    caller("GET", url, settings=settings)
    reply = caller("GET", url, settings=settings)
    assert (reply.status, reply.body) == (503, b"no")
    assert len(server.requests) == 4


@pytest.mark.usefixtures("clock")
def test_no_wait_is_begun_past_the_end(caller: Caller, server: Server) -> None:
    policy = POLICY.replace(within=1.5)
    assert caller("GET", server.script("/", 503), settings={"policy": policy}).status == 503
    assert len(server.requests) == 2


@pytest.mark.usefixtures("clock")
def test_events_tell_what_happened(caller: Caller, server: Server) -> None:
    events: list[Event] = []
    throttled = Failure(Kind.THROTTLED, retry_after=0.0)
    url = server.script("/", server.answer(429, retry_after="0"), server.dropped(), 200)
    caller("GET", url, settings={**SETTINGS, "hooks": events.append, "name": "stock"})
    kinds = [type(event) for event in events]
    assert kinds == [Attempted, Retrying, Attempted, Retrying, Attempted, Succeeded]
    assert {event.name for event in events} == {"stock"}
    assert isinstance(events[0], Attempted)
    assert events[0].outcome == throttled
    assert isinstance(events[2], Attempted)
    assert isinstance(events[2].error, caller.dropped)


@pytest.mark.usefixtures("clock")
def test_a_name_is_there_if_none_was_given(caller: Caller, server: Server) -> None:
    events: list[Event] = []
    caller("GET", server.script("/", 200), settings={"hooks": events.append})
    assert {event.name for event in events} <= {"httpx", "httpx2", "requests", "aiohttp"}


@pytest.mark.usefixtures("clock")
def test_redirects_are_followed_and_each_hop_is_retried(caller: Caller, server: Server) -> None:
    end = server.script("/end", 503, server.answer(200, b"there"))
    start = server.script("/start", 503, server.answer(302, location=end))
    reply = caller("GET", start, settings=SETTINGS, follow_redirects=True)
    assert (reply.status, reply.body) == (200, b"there")
    paths = [seen.path for seen in server.requests]
    assert paths == ["/start", "/start", "/end", "/end"]
    assert server.numbers == ["1", "2", "1", "2"]


@pytest.mark.usefixtures("clock")
def test_a_post_that_became_a_get_on_the_way_is_retried(caller: Caller, server: Server) -> None:
    end = server.script("/end", 503, 200)
    start = server.script("/start", server.answer(303, location=end))
    assert caller("POST", start, settings=SETTINGS, follow_redirects=True).status == 200
    assert [seen.method for seen in server.requests] == ["POST", "GET", "GET"]


@pytest.mark.usefixtures("clock")
def test_own_headers_stay_on_every_attempt(caller: Caller, server: Server) -> None:
    own = {"Authorization": "Basic dTpw", "Cookie": "a=1", "X-Own": "yes"}
    caller("GET", server.script("/", 503, 200), settings=SETTINGS, headers=own)
    sent = [{name: seen.headers[name.lower()] for name in own} for seen in server.requests]
    assert sent == [own, own]


def test_an_attempt_that_takes_too_long_is_cut_off_and_tried_again(
    caller: Caller, server: Server, clock: PushedClock
) -> None:
    closed: list[bool] = []
    clock.during = lambda: closed.append(server.has_no_connection())
    url = server.script("/", server.late(30), 200)
    settings = {"policy": POLICY.replace(attempt_timeout=LIMIT)}
    assert caller("GET", url, settings=settings).status == 200
    assert clock.waits == [1.0]
    assert closed == [True]


@pytest.mark.usefixtures("clock")
def test_when_all_attempts_take_too_long_it_is_a_timeout(caller: Caller, server: Server) -> None:
    url = server.script("/", server.late(30))
    settings = {"policy": POLICY.replace(attempts=2, attempt_timeout=LIMIT / 20)}
    with pytest.raises(caller.timed_out) as caught:
        caller("GET", url, settings=settings)
    assert any("2 attempts" in note for note in caught.value.__notes__)


@pytest.mark.usefixtures("clock")
def test_a_post_that_took_too_long_is_not_sent_again(caller: Caller, server: Server) -> None:
    url = server.script("/", server.late(30))
    settings = {"policy": POLICY.replace(attempt_timeout=LIMIT)}
    with pytest.raises(caller.timed_out):
        caller("POST", url, settings=settings)
    assert len(server.requests) == 1


@pytest.mark.usefixtures("clock")
def test_the_client_s_own_timeout_counts_too(caller: Caller, server: Server) -> None:
    url = server.script("/", server.late(30), 200)
    settings = {"policy": POLICY.replace(attempt_timeout=20)}
    assert caller("GET", url, settings=settings, timeout=LIMIT).status == 200


@pytest.mark.usefixtures("clock")
def test_a_response_holds_no_connection_during_the_wait(
    caller: Caller, server: Server, clock: PushedClock
) -> None:
    closed: list[bool] = []
    clock.during = lambda: closed.append(server.has_no_connection())
    answers = (server.answer(503, b"x" * size) for size in (0, 5, 100_000))
    url = server.script("/", *answers, server.cut_short(503), 200)
    settings = {"policy": POLICY.replace(attempts=5)}
    assert caller("GET", url, settings=settings).status == 200
    assert closed == [True] * 4


@pytest.mark.parametrize("setting", ["policy", "budget", "breaker", "hooks", "rate_limit_headers"])
def test_a_wrong_setting_is_refused_at_once(caller: Caller, setting: str) -> None:
    with pytest.raises(tarry.PolicyError, match=setting):
        caller("GET", "http://127.0.0.1:9/", settings={setting: [object()]})


@pytest.mark.usefixtures("clock")
def test_what_is_no_failure_of_the_network_is_not_retried(caller: Caller, server: Server) -> None:
    breaker = tarry.Breaker(failures=1)
    settings = {**SETTINGS, "breaker": breaker}
    with pytest.raises(Exception, match=r"(?i)header|invalid|illegal|newline|character"):
        caller("GET", server.url("/"), settings=settings, headers={"x-bad": "a\r\nb: c"})
    assert breaker.phase == "closed"
