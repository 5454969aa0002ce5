import re
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.wire import head
from tarry.service.wire.exchange import Headers, Request, Target

TARGET = Target("https", "hooks.example", 443, "/in?a=b")


def test_a_target_has_its_line_and_its_headers() -> None:
    assert head.standing(TARGET).decode().split("\r\n") == [
        "POST /in?a=b HTTP/1.1",
        "host: hooks.example",
        "content-type: application/json",
        f"user-agent: tarry/{version('tarry')}",
        "",
    ]


@pytest.mark.parametrize(
    ("scheme", "host", "port", "named"),
    [
        ("http", "a.example", 80, "a.example"),
        ("http", "a.example", 443, "a.example:443"),
        ("https", "a.example", 8443, "a.example:8443"),
        ("http", "::1", 80, "[::1]"),
        ("https", "2001:db8::1", 8443, "[2001:db8::1]:8443"),
    ],
)
def test_the_host_has_its_port_unless_it_is_the_usual_one(
    scheme: str, host: str, port: int, named: str
) -> None:
    assert head.authority(Target(scheme, host, port, "/")) == named


def test_an_owner_may_set_the_content_type_and_the_user_agent() -> None:
    headers = (("Content-Type", "application/cloudevents+json"), ("User-Agent", "us"))
    found = head.standing(Target("http", "a.example", 80, "/", headers)).lower()
    assert found.count(b"content-type") == found.count(b"user-agent") == 1
    assert b"content-type: application/cloudevents+json\r\n" in found


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "CONNECTION"])
def test_what_is_the_senders_own_cannot_be_set(name: str) -> None:
    with pytest.raises(ValueError, match=name.lower()):
        head.standing(Target("http", "a.example", 80, "/", ((name, "x"),)))


@pytest.mark.parametrize("path", ["/a b", "/a\r\nx: y", "/ä", "/\0", "/\x7f"])
def test_a_path_that_breaks_the_line_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        head.standing(Target("http", "a.example", 80, path))


def test_a_request_adds_its_own_headers_and_its_length() -> None:
    request = Request(TARGET, (("webhook-id", "msg_1"), ("x-ü", "ÿ")), b"{}")
    assert head.whole(b"START\r\n", request) == (
        b"START\r\nwebhook-id: msg_1\r\nx-\xfc: \xff\r\ncontent-length: 2\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a", "b\r\nc: d"),
        ("a", "b\n"),
        ("a", "b\r"),
        ("a\r\nb", "c"),
        ("a", "b\0"),
        ("a", "☂"),
    ],
)
def test_a_header_that_would_break_its_line_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="a header holds"):
        head.lines(((name, value),))


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=4).map(tuple))
def test_there_are_never_more_lines_than_headers(headers: Headers) -> None:
    try:
        written = head.lines(headers)
    except ValueError:
        return
    assert len(re.split(b"[\r\n]+", written)) == len(headers) + 1
