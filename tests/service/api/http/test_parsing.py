from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from tarry.service.api.http.parsing import read_body, read_query
from tarry.service.api.http.problem import Invalid
from tarry.service.api.http.times import Instant, seconds
from tarry.service.api.resources.applications.applications import Text, Title


class Inner(msgspec.Struct, rename="camel"):
    how_many: Annotated[int, Meta(ge=1)] = 1


class Body(msgspec.Struct, rename="camel"):
    name: str
    inner: Inner | None = None
    many: list[Inner] = []


class Query(msgspec.Struct):
    limit: int = 50
    flag: bool = True
    order: Literal["up", "down"] | None = None
    event_types: list[str] | None = None
    before: Instant | None = None


def test_a_body_becomes_a_value_and_what_is_unknown_is_left_alone() -> None:
    value = read_body(b'{"name": "x", "inner": {"howMany": 3}, "newer": true}', Body)
    assert value == Body("x", Inner(3))


@pytest.mark.parametrize(
    ("body", "path", "kind"),
    [
        (b"", ["body"], "json_error"),
        (b"{", ["body"], "json_error"),
        (b'{"name": "\xff"}', ["body"], "json_error"),
        (b"[]", ["body"], "value_error"),
        (b"{}", ["body", "name"], "value_error.missing"),
        (b'{"name": 1}', ["body", "name"], "value_error"),
        (b'{"name": "x", "inner": {"howMany": 0}}', ["body", "inner", "howMany"], "value_error"),
        (b'{"name": "x", "many": [{}, {"howMany": 0}]}', ["body", "many", "1", "howMany"], None),
        (b'{"newer": ' + b"[" * 100_000, ["body"], None),  # too deep, or truncated
    ],
    ids=range(9),
)
def test_what_cannot_be_read_is_told_by_its_place(
    body: bytes, path: list[str], kind: str | None
) -> None:
    with pytest.raises(Invalid) as error:
        read_body(body, Body)
    assert error.value.place == path
    assert kind in (None, error.value.kind)


@pytest.mark.parametrize(
    "query", [b"order=null", b"before=null", b"before=0.5", b"limit=1.0", b"limit=1e1", b"flag=yes"]
)
def test_nothing_in_a_query_is_bent_into_what_it_is_not(query: bytes) -> None:
    with pytest.raises(Invalid):
        read_query(query, Query)


@pytest.mark.parametrize(
    "written",
    [
        b"2026-11-15T16:00:00Z",
        b"2026-11-15T16:00:00",  # Python and C#, without a zone
        b"2026-11-15T16:00Z",  # Java
        b"2026-11-15T16:00:00.000000000Z",  # Go
        b"2026-11-15T18:00:00%2B02:00",
        b"2026-11-15T18:00:00+02:00",  # somebody did not quote it
        b"2026-11-15T18:00+0200",
        b"2026-11-15T14:00:00-02:00",
        b"2026-11-15%2016:00:00Z",
    ],
)
def test_a_time_can_be_written_in_several_ways(written: bytes) -> None:
    at = seconds(read_query(b"before=" + written, Query).before)
    assert at == datetime(2026, 11, 15, 16, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("query", [b"2026-11-15", b"16:00", b"2026-11-15T16", b"now", b"1e9", b""])
def test_what_is_no_time_is_refused(query: bytes) -> None:
    with pytest.raises(Invalid):
        read_query(b"before=" + query, Query)


@pytest.mark.parametrize(
    "query",
    [
        b"event_types=a,b",
        b"event_types=a&event_types=b",
        b"event_types[]=a&event_types[]=b",
        b"event_types[0]=a&event_types[1]=b",
        b"event_types%5B%5D=a,,b",
    ],
)
def test_a_list_can_be_written_in_several_ways(query: bytes) -> None:
    assert read_query(query, Query).event_types == ["a", "b"]


def test_a_query_becomes_a_value() -> None:
    value = read_query(
        b"limit=5&flag=false&order=up&event_types=a,b&event_types=c&before=2026-01-02T03:04:05%2B00:00"
        b"&unknown=1",
        Query,
    )
    assert (value.limit, value.flag, value.order) == (5, False, "up")
    assert value.event_types == ["a", "b", "c"]
    assert value.before.timestamp() == 1_767_323_045
    assert read_query(b"", Query) == Query()


@pytest.mark.parametrize(
    ("query", "path"),
    [
        (b"limit=x", ["query", "limit"]),
        (b"flag=maybe", ["query", "flag"]),
        (b"order=sideways", ["query", "order"]),
        (b"before=2026-01-02", ["query", "before"]),
        (b"limit=%ff", ["query"]),
        (b"limit=\xff", ["query"]),
        (b"a=1&" * 200, ["query"]),
    ],
    ids=range(7),
)
def test_a_query_that_cannot_be_read_is_told_by_its_place(query: bytes, path: list[str]) -> None:
    with pytest.raises(Invalid) as error:
        read_query(query, Query)
    assert error.value.place == path
    assert str(error.value).startswith(".".join(path))


def test_an_empty_body_is_none_only_where_that_will_do() -> None:
    assert read_body(b"", Body | None) is None
    with pytest.raises(Invalid):
        read_body(b"", Body)


def test_a_body_that_may_be_left_out_is_not_null_if_it_is_there() -> None:
    assert read_body(b"", Inner | None) is None
    assert read_body(b"{}", Inner | None) == Inner()
    with pytest.raises(Invalid):
        read_body(b"null", Inner | None)


class Named(msgspec.Struct):
    uid: Annotated[str, Meta(pattern=r"^(?!app_)[a-zA-Z0-9\-_.]+\Z")]


def test_how_a_name_is_spelled_is_said_in_words() -> None:
    with pytest.raises(Invalid) as refused:
        read_body(b'{"uid": "a b"}', Named)
    message = "only letters, digits and - _ . are allowed, and it must not begin with app_"
    assert refused.value.message == message


class Described(msgspec.Struct):
    name: Title = "x"
    description: Text = ""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"name": " "}', "it must not be blank, nor hold the character NUL"),
        (b'{"name": "a\\u0000"}', "it must not be blank, nor hold the character NUL"),
        (b'{"description": "a\\u0000"}', "it must not hold the character NUL"),
    ],
)
def test_what_a_text_may_not_be_is_said_in_words(body: bytes, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_body(body, Described)
    assert refused.value.message == message


def test_who_chose_what_there_is_not_is_told_what_there_is() -> None:
    with pytest.raises(Invalid, match=r"'left'; allowed: (up, down|down, up)$"):
        read_query(b"order=left", Query)


def test_a_body_that_is_not_there_is_told_so() -> None:
    with pytest.raises(Invalid, match="it is empty; it must be JSON"):
        read_body(b"", Body)
