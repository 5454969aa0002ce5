import re
from importlib.metadata import version
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.outcome import Kind
from tarry.service.wire.exchange import (
    MOST_HEAD,
    MOST_KEPT,
    MOST_READ,
    Answer,
    Headers,
    Request,
    Target,
)
from tarry.service.wire.http1 import (
    MOST_FRAMED,
    MOST_HEARD,
    MOST_INTERIM,
    MOST_VALUE,
    Reader,
    authority,
    constant_head,
    header_lines,
    request_head,
)

OK = b"HTTP/1.1 200 OK\r\n"
WHOLE = OK + b"content-length: 2\r\n\r\nhi"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def read(*pieces: bytes, closed: bool = False) -> tuple[Reader, bool]:
    """A reader that was fed these, and whether it has had enough."""
    reader = Reader()
    over = False
    for piece in pieces:
        over = reader.feed(piece)
        if over:
            break
    if closed:
        reader.end()
    return reader, over


def test_a_plain_answer_is_read_and_its_connection_can_be_used_again() -> None:
    head = OK + b"Content-Type: text/plain\r\nX-Other: 1\r\nRETRY-AFTER: 7\r\n"
    reader, over = read(head + b"Content-Length: 2\r\n\r\nhi")
    assert over
    assert reader.reusable
    assert reader.answer(0.5) == Answer(
        0.5, 200, (("content-type", "text/plain"), ("retry-after", "7")), b"hi"
    )


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 304 Same\r\ncontent-length: 9\r\n\r\n", 304, b""),
        (CHUNKED + b"3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nretry-after: 1\r\n\r\n", 200, b"abcd"),
        (CONTINUE + b"HTTP/1.1 103 Hints\r\nretry-after: 1\r\n\r\n" + WHOLE, 200, b"hi"),
        (b"HTTP/1.0 500 No\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\nx", 500, b"x"),
    ],
)
def test_answers_by_the_rules_are_whole_however_they_are_cut_up(
    answer: bytes, status: int, body: bytes
) -> None:
    for pieces in ([answer], [answer[at : at + 1] for at in range(len(answer))]):
        reader, over = read(*pieces)
        assert over
        assert reader.reusable
        assert reader.answer(0) == Answer(0, status, (), body)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
        WHOLE + b"HTTP/1.1 500 Smuggled\r\ncontent-length: 3\r\n\r\nbad",
        WHOLE + b"more",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi" + CONTINUE,
    ],
)
def test_an_answer_stands_but_what_follows_it_ends_its_connection(answer: bytes) -> None:
    reader, over = read(answer)
    assert over
    assert not reader.reusable
    assert reader.answer(0) == Answer(0, 200, (), b"hi")


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>hello</html>",
        b"HTTP/0.9 200 OK\r\n\r\n",
        b"HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"RTSP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 099 Low\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 20 Short\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nxyz",
        b"HTTP/1.1 101 Switching\r\n\r\nxyz",
        OK + b"content-length: 2\r\ncontent-length: 2\r\n\r\nhi",
        OK + b"content-length: 2, 2\r\n\r\nhi",
        OK + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\nhi",
        OK + b"x : y\r\n\r\n",
        OK + b"x: y\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\ncontent-length: 0\n\n",
        CONTINUE * (MOST_INTERIM + 1),
    ],
)
def test_what_is_not_quite_http_is_a_fault_and_never_a_status(answer: bytes) -> None:
    for pieces in ([answer], [answer[at : at + 1] for at in range(len(answer))]):
        reader, over = read(*pieces)
        assert over
        assert not reader.reusable
        found = reader.answer(0)
        assert (found.status, found.failure) == (None, Kind.PROTOCOL)
        assert found.detail


@pytest.mark.parametrize(
    "body", [b"zz\r\n", b"2\r\nhixx", b"2\nhi\n", b"fffffffffffffffff\r\n", b"-1\r\n"]
)
def test_bad_chunks_leave_the_status_as_the_answer_cut_off(body: bytes) -> None:
    reader, over = read(CHUNKED + body)
    assert over
    assert not reader.reusable
    found = reader.answer(0)
    assert (found.status, found.truncated, found.failure) == (200, True, None)


def test_a_body_without_a_length_is_whole_when_the_connection_closes() -> None:
    reader, over = read(OK + b"\r\nhi", closed=True)
    assert not over
    assert reader.answer(0) == Answer(0, 200, (), b"hi")


def test_a_body_that_breaks_off_is_truncated() -> None:
    reader, over = read(OK + b"content-length: 3\r\n\r\nhi", closed=True)
    assert not over
    assert reader.answer(0) == Answer(0, 200, (), b"hi", truncated=True)


def test_only_the_beginning_of_a_body_is_kept() -> None:
    length = MOST_KEPT + 1
    reader, over = read(OK + b"content-length: %d\r\n\r\n" % length + b"x" * length)
    assert over
    assert reader.reusable
    found = reader.answer(0)
    assert found.body == b"x" * MOST_KEPT
    assert found.truncated


@pytest.mark.parametrize("more", [0, 1])
def test_a_body_is_read_up_to_its_limit(more: int) -> None:
    reader, over = read(OK + b"content-length: 999999\r\n\r\n", b"x" * MOST_READ, b"x" * more)
    assert over is bool(more)
    assert not reader.reusable


def test_framing_counts_where_the_body_does_not_grow() -> None:
    reader, over = read(CHUNKED + b"1;why=", *[b"y" * 1024] * (MOST_FRAMED // 512))
    assert over
    assert not reader.reusable


@pytest.mark.parametrize("piece", [1_000, 100_000])
def test_a_head_has_a_limit_however_it_comes(piece: int) -> None:
    answer = OK + b"x-pad: %b\r\ncontent-length: 0\r\n\r\n" % (b"y" * MOST_HEAD)
    reader, over = read(*[answer[at : at + piece] for at in range(0, len(answer), piece)])
    assert over
    found = reader.answer(0)
    assert found.failure is Kind.PROTOCOL
    assert str(MOST_HEAD) in found.detail


def test_only_so_many_headers_are_kept_and_so_much_of_each() -> None:
    many = b"date: %b\r\n" % (b"y" * 1_500)
    reader, over = read(OK + many * 20 + b"content-length: 0\r\n\r\n")
    assert over
    assert reader.answer(0).headers == (("date", "y" * MOST_VALUE),) * MOST_HEARD


def test_a_long_body_in_one_piece_with_its_head_is_not_taken_for_a_head() -> None:
    length = MOST_HEAD + 100
    reader, over = read(OK + b"content-length: %d\r\n\r\n" % length + b"x" * length)
    assert over
    assert reader.reusable
    assert reader.answer(0).status == 200


def test_the_next_answer_knows_nothing_of_the_last() -> None:
    reader, _ = read(OK + b"retry-after: 1\r\ncontent-length: 2\r\n\r\nhi")
    reader.begin()
    assert not reader.begun
    assert reader.feed(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n")
    assert reader.answer(0) == Answer(0, 503)


def test_a_single_byte_is_a_beginning() -> None:
    reader, over = read(b"H")
    assert reader.begun
    assert not over


def test_closed_it_reads_nothing_more() -> None:
    reader = Reader()
    reader.close()
    reader.feed(WHOLE)
    assert reader.status == 0


@given(
    st.one_of(
        st.binary(max_size=200),
        st.binary(max_size=80).map(OK.__add__),
        st.binary(max_size=80).map(CHUNKED.__add__),
        st.binary(max_size=80).map(WHOLE.__add__),
    ),
    st.lists(st.integers(0, 300), max_size=4),
)
def test_bytes_of_any_kind_end_alike_however_they_are_cut_up(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges) if a < b]
    whole, _ = read(data)
    cut, _ = read(*pieces)
    assert whole.status == cut.status
    if whole.status:
        assert whole.answer(0).body == cut.answer(0).body


TARGET = Target("https", "hooks.example", 443, "/in?a=b")


def test_a_target_has_its_line_and_its_headers() -> None:
    assert constant_head(TARGET).decode().split("\r\n") == [
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
    assert authority(Target(scheme, host, port, "/")) == named


def test_an_owner_may_set_the_content_type_and_the_user_agent() -> None:
    headers = (("Content-Type", "application/cloudevents+json"), ("User-Agent", "us"))
    found = constant_head(Target("http", "a.example", 80, "/", headers)).lower()
    assert found.count(b"content-type") == found.count(b"user-agent") == 1
    assert b"content-type: application/cloudevents+json\r\n" in found


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "CONNECTION"])
def test_what_is_the_senders_own_cannot_be_set(name: str) -> None:
    with pytest.raises(ValueError, match=name.lower()):
        constant_head(Target("http", "a.example", 80, "/", ((name, "x"),)))


@pytest.mark.parametrize("path", ["/a b", "/a\r\nx: y", "/ä", "/\0", "/\x7f"])
def test_a_path_that_breaks_the_line_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        constant_head(Target("http", "a.example", 80, path))


def test_a_request_adds_its_own_headers_and_its_length() -> None:
    request = Request(TARGET, (("webhook-id", "msg_1"), ("x-ü", "ÿ")), b"{}")
    assert request_head(b"START\r\n", request) == (
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
        header_lines(((name, value),))


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=4).map(tuple))
def test_there_are_never_more_lines_than_headers(headers: Headers) -> None:
    try:
        written = header_lines(headers)
    except ValueError:
        return
    assert len(re.split(b"[\r\n]+", written)) == len(headers) + 1
