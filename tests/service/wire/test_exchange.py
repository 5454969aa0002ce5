"""The values of an exchange: what endpoints share, and what is heard of an answer."""

import pytest
from msgspec.structs import replace

from tarry.service.wire.exchange import (
    CONNECT_TIMEOUT,
    HEARD,
    MOST_HEAD,
    MOST_KEPT,
    MOST_READ,
    TIMEOUT,
    Answer,
    Request,
    Target,
)
from tarry.service.wire.http1 import constant_head

TARGET = Target("https", "hooks.example", 443, "/in?a=1", (("x-team", "billing"),), "app_a")


def test_endpoints_of_one_origin_differ_in_path_and_headers_only() -> None:
    assert TARGET.origin == ("https", "hooks.example", 443)
    assert replace(TARGET, path="/other", headers=()).origin == TARGET.origin


@pytest.mark.parametrize(
    "other",
    [
        replace(TARGET, scheme="http"),
        replace(TARGET, host="other.example"),
        replace(TARGET, port=8443),
    ],
)
def test_another_scheme_host_or_port_is_another_origin(other: Target) -> None:
    assert other.origin != TARGET.origin


def test_bodies_of_another_type_are_sent_as_what_they_are() -> None:
    own = replace(TARGET, headers=(*TARGET.headers, ("Content-Type", "text/x")))
    for target in (TARGET, own):
        other = target.sending("text/xml")
        assert other.headers == (("x-team", "billing"), ("content-type", "text/xml"))
        assert (other.origin, other.owner) == (target.origin, target.owner)
        written = constant_head(other)
        assert b"content-type: text/xml\r\n" in written
        assert written.lower().count(b"content-type") == 1


def test_a_request_is_bounded_in_time_unless_told_otherwise() -> None:
    request = Request(TARGET, (), b"{}")
    assert (request.timeout, request.connect_timeout) == (TIMEOUT, CONNECT_TIMEOUT)
    assert request.connect_timeout < request.timeout


def test_an_answer_of_which_only_the_time_is_known_says_nothing() -> None:
    answer = Answer(0.5)
    assert (answer.status, answer.failure, answer.headers, answer.body) == (None, None, (), b"")
    assert not answer.truncated
    assert not answer.detail


def test_no_more_is_kept_than_is_read() -> None:
    assert MOST_KEPT == 8 * 1024 < MOST_HEAD < MOST_READ == 64 * 1024


def test_what_is_heard_is_spelled_as_answers_spell_it() -> None:
    assert {name.lower() for name in HEARD} == HEARD
    assert {"retry-after", "webhook-delivery"} <= HEARD


@pytest.mark.parametrize("value", [TARGET, Request(TARGET, (), b""), Answer(0.1)])
def test_values_do_not_change(value: Target | Request | Answer) -> None:
    with pytest.raises(AttributeError):
        setattr(value, value.__struct_fields__[0], "other")
