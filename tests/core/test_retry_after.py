import math
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.checks import LONGEST_DURATION
from tarry.core.retry_after import parse_date, parse_rate_limit, parse_retry_after

NOW = 1_800_000_000.0  # 2027-01-15 08:00:00
dates = st.integers(
    int(datetime(1000, 1, 1, tzinfo=UTC).timestamp()),  # the standard library shifts older ones
    int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()),
).map(lambda seconds: datetime.fromtimestamp(seconds, tz=UTC))
near_dates = st.integers(
    int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()),
    int(datetime(2068, 12, 31, tzinfo=UTC).timestamp()),
).map(lambda seconds: datetime.fromtimestamp(seconds, tz=UTC))


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("120", 120.0),
        (" 120 ", 120.0),
        ("\t7\r\n", 7.0),
        ("0", 0.0),
        ("00", 0.0),
        ("1.5", 1.5),
        ("5.", 5.0),
        (".5", 0.5),
        ("+5", 5.0),
        ("-5", 0.0),
        ("-0", 0.0),
        ("-0.5", 0.0),
        ("120, 60", 120.0),
        ("120 ,", 120.0),
        ("1000000000", 1e9),
        ("1000000001", 1e9),
        ("9" * 5_000, 1e9),
    ],
    ids=map(str, count(1)),
)
def test_seconds_are_read_leniently(value: str, wait: float) -> None:
    assert parse_retry_after(value, now=NOW) == wait


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        " ",
        ",",
        ", 5",
        ".",
        "+",
        "--5",
        "+-5",
        "5 6",
        "1e5",
        "1_000",
        "0x10",
        "nan",
        "inf",
        "Infinity",
        "soon",
        "10s",
        "١٢",  # digits, but not those of HTTP
        "²",
        "Fri, 15 Jan 2027",
        "08:00:00",
        "Fri, 15 Jan 2027 08:00:00 CET",
        "Fri, 15 Jan 2027 08:00:00 +0100",
        "Fri, 15 Jan 2027 08:00 GMT",
        "Fri, 15 Jan 02027 08:00:00 GMT",
        "Fri, 15 Jan 207 08:00:00 GMT",
        "Fri, 15 Foo 2027 08:00:00 GMT",
        "Fri, 00 Jan 2027 08:00:00 GMT",
        "Fri, 32 Jan 2027 08:00:00 GMT",
        "Fri, 31 Apr 2027 08:00:00 GMT",
        "Mon, 29 Feb 2027 08:00:00 GMT",
        "Mon, 29 Feb 2100 08:00:00 GMT",
        "Wed, 30 Feb 2028 08:00:00 GMT",
        "Fri, 15 Jan 2027 24:00:00 GMT",
        "Fri, 15 Jan 2027 23:60:00 GMT",
        "Fri, 15 Jan 2027 23:59:61 GMT",
        "Fri, 15 Jan 0000 08:00:00 GMT",
        "Fri Jan 15 08:00:00 27",
        "Fri Jan 15 08:00:00 2027 GMT",
    ],
)
def test_junk_says_nothing(value: str | None) -> None:
    assert parse_retry_after(value, now=NOW) is None


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("Fri, 15 Jan 2027 08:00:00 GMT", 0.0),
        ("Fri, 15 Jan 2027 08:00:01 GMT", 1.0),
        ("Fri, 15 Jan 2027 07:59:59 GMT", 0.0),
        ("Fri, 15 Jan 2027 08:02:00 GMT", 120.0),
        ("Fri, 15 Jan 2027 23:59:60 GMT", 57_600.0),
        ("Sat, 16 Jan 2027 08:00:00 GMT", 86_400.0),
        ("Fri, 15 Jan 2027 08:00:07 UTC", 7.0),
        ("Fri, 15 Jan 2027 08:00:07 UT", 7.0),
        ("Fri, 15 Jan 2027 08:00:07 Z", 7.0),
        ("Fri, 15 Jan 2027 08:00:07 +0000", 7.0),
        ("Fri, 15 Jan 2027 08:00:07 -0000", 7.0),
        ("Fri, 15 Jan 2027 08:00:07", 7.0),
        ("fri, 15 jan 2027 8:00:07 gmt", 7.0),
        ("15 Jan 2027 08:00:07 GMT", 7.0),
        ("Fri,15 Jan 2027 08:00:07 GMT", 7.0),
        ("Friday, 15-Jan-27 08:00:07 GMT", 7.0),
        ("Fri, 15-Jan-2027 08:00:07 GMT", 7.0),
        ("Fri Jan 15 08:00:07 2027", 7.0),
        ("Mon Feb  1 08:00:00 2027", 17 * 86_400.0),
        ("Mon Feb 1 08:00:00 2027", 17 * 86_400.0),
        ("Mon, 01 Mar 2027 08:00:00 GMT", 45 * 86_400.0),
        ("Tue, 29 Feb 2028 08:00:00 GMT", 410 * 86_400.0),
        ("Wed, 01 Mar 2028 08:00:00 GMT", 411 * 86_400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 1e9),
        ("Mon, 01 Jan 0001 00:00:00 GMT", 0.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0),
    ],
)
def test_dates_are_read_in_their_three_forms(value: str, wait: float) -> None:
    assert parse_retry_after(value, now=NOW) == wait


def test_the_start_of_1970_is_second_zero() -> None:
    for value in ("Thu, 01 Jan 1970 00:00:09 GMT", "Thursday, 01-Jan-70 00:00:09 GMT"):
        assert parse_retry_after(value, now=0.0) == 9.0
        assert parse_retry_after(value, now=1.5) == 7.5


@pytest.mark.parametrize(
    ("now_year", "digits", "year"),
    [
        (2027, "27", 2027),
        (2027, "77", 2077),
        (2027, "78", 1978),
        (1999, "00", 2000),
        (1999, "49", 2049),
    ],
)
def test_a_year_of_two_digits_is_never_more_than_fifty_years_ahead(
    now_year: int, digits: str, year: int
) -> None:
    now = datetime(now_year, 7, 1, tzinfo=UTC).timestamp()
    then = datetime(year, 8, 1, tzinfo=UTC).timestamp()
    wait = parse_retry_after(f"Sunday, 01-Aug-{digits} 00:00:00 GMT", now=now)
    assert wait == min(max(0.0, then - now), LONGEST_DURATION)


@given(moment=dates, now=st.floats(0, 4e9))
def test_dates_agree_with_the_standard_library(moment: datetime, now: float) -> None:
    exact = min(max(0.0, moment.timestamp() - now), LONGEST_DURATION)
    imf = format_datetime(moment, usegmt=True)
    assert parsedate_to_datetime(imf) == moment
    assert parse_retry_after(imf, now=now) == exact
    assert (
        parse_retry_after(moment.strftime("%a %b %e %H:%M:%S ") + f"{moment.year:04}", now=now)
        == exact
    )


@given(moment=dates, ahead=st.floats(-1e6, 1e6))
def test_dates_of_every_century_are_exact(moment: datetime, ahead: float) -> None:
    now = moment.timestamp() - ahead
    exact = max(0.0, moment.timestamp() - now)
    assert parse_retry_after(format_datetime(moment, usegmt=True), now=now) == exact


@given(moment=near_dates)
def test_the_oldest_form_agrees_with_the_standard_library(moment: datetime) -> None:
    text = moment.strftime("%A, %d-%b-%y %H:%M:%S GMT")
    assert parsedate_to_datetime(text) == moment
    exact = min(max(0.0, moment.timestamp() - NOW), LONGEST_DURATION)
    assert parse_retry_after(text, now=NOW) == exact


@given(
    value=st.text()
    | st.from_regex(r"[+-]?[0-9.,e ]*", fullmatch=True)
    | st.from_regex(r"\w{0,9},? ?\d+[ -]\w{3}[ -]\d+ \d+:\d+:\d+ ?\w*", fullmatch=True),
    now=st.floats(0, 1e11),
)
def test_no_text_makes_it_fail(value: str, now: float) -> None:
    wait = parse_retry_after(value, now=now)
    assert wait is None or 0 <= wait <= LONGEST_DURATION


# --- Rate limits --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"RateLimit": '"default";r=0;t=30'}, 30.0),
        ({"ratelimit": '"default"; r=0; t=30'}, 30.0),
        ({"RateLimit": '"default";t=30;r=0'}, 30.0),
        ({"RateLimit": '"default";R=0;T=30'}, 30.0),
        ({"RateLimit": '"default";t=30'}, 30.0),
        ({"RateLimit": '"default";r=50;t=30'}, None),
        ({"RateLimit": '"default";r=1;t=30'}, None),
        ({"RateLimit": '"default";r=0'}, None),
        ({"RateLimit": '"default";r=0;t=junk'}, None),
        ({"RateLimit": '"default";r=0;t'}, None),
        ({"RateLimit": '"minute";r=0;t=30, "day";r=0;t=3000, "hour";r=9;t=9000'}, 3000.0),
        ({"RateLimit": '"a;r=7;t=1,";r=0;t=30'}, 30.0),
        ({"RateLimit": '"a\\";r=0;t=1,";r=0;t=30'}, 30.0),
        ({"RateLimit": '"open;r=0;t=30'}, None),
        ({"RateLimit": '"default";r=0;t=-5'}, 0.0),
        ({"RateLimit": '"default";r=0;t=99999999999'}, 1e9),
        ({"RateLimit": ""}, None),
        ({"RateLimit-Reset": "30"}, 30.0),
        ({"RateLimit-Reset": "30", "RateLimit-Remaining": "0"}, 30.0),
        ({"RateLimit-Reset": "30", "RateLimit-Remaining": "1"}, None),
        ({"RateLimit-Reset": "30", "RateLimit-Remaining": "0.5"}, None),
        ({"RateLimit-Reset": "30", "RateLimit-Remaining": "-1"}, 30.0),
        ({"RateLimit-Reset": "30", "RateLimit-Remaining": "junk"}, 30.0),
        ({"RateLimit-Reset": "junk"}, None),
        ({"RateLimit-Reset": "-1"}, 0.0),
        ({"RateLimit-Remaining": "0"}, None),
        ({"X-RateLimit-Reset": "30"}, 30.0),
        ({"x-ratelimit-reset": str(NOW + 45), "x-ratelimit-remaining": "0"}, 45.0),
        ({"X-RateLimit-Reset": str(NOW - 45)}, 0.0),
        ({"X-RateLimit-Reset": "1000000000"}, 1e9),
        ({"X-RateLimit-Reset": "1000000001"}, 0.0),
        ({"X-RateLimit-Reset": "30", "X-RateLimit-Remaining": "12"}, None),
        ({"X-RateLimit-Reset": "30", "RateLimit-Remaining": "12"}, 30.0),
        ({"RateLimit-Reset": "10", "X-RateLimit-Reset": "30"}, 10.0),
        ({"RateLimit-Reset": "junk", "X-RateLimit-Reset": "30"}, 30.0),
        (
            {
                "RateLimit-Reset": "10",
                "RateLimit-Remaining": "3",
                "X-RateLimit-Reset": "30",
                "X-RateLimit-Remaining": "0",
            },
            30.0,
        ),
        ({"RateLimit": '"default";r=0;t=5', "RateLimit-Reset": "10"}, 5.0),
        ({"RateLimit": '"default";r=3;t=5', "RateLimit-Reset": "10"}, 10.0),
    ],
    ids=map(str, count(1)),
)
def test_a_spent_rate_limit_says_when_it_is_filled(
    headers: dict[str, str], wait: float | None
) -> None:
    assert parse_rate_limit(headers, now=NOW) == wait


@given(
    headers=st.dictionaries(
        st.sampled_from(
            ["RateLimit", "RateLimit-Reset", "RateLimit-Remaining", "X-RateLimit-Reset"]
        ),
        st.text() | st.from_regex(r'("[^"]*")?(;[rt]=\d*)*,?', fullmatch=True),
    )
)
def test_no_header_makes_it_fail(headers: dict[str, str]) -> None:
    wait = parse_rate_limit(headers, now=NOW)
    assert wait is None or (math.isfinite(wait) and 0 <= wait <= LONGEST_DURATION)


@pytest.mark.timeout(5)
def test_a_header_made_to_be_slow_is_read_at_once() -> None:
    for hostile in ('"\\' * 50_000, '"' * 100_001, '"\\"' * 50_000, "9" * 100_000, "a" * 100_000):
        parse_rate_limit({"RateLimit": hostile}, now=NOW)
        parse_retry_after(hostile, now=NOW)


def test_a_date_by_itself_is_an_instant_or_none() -> None:
    assert parse_date(" Fri, 15 Jan 2027 08:00:00 GMT ", now=0.0) == NOW
    assert parse_date("noon", now=NOW) is None
    assert parse_date(None, now=NOW) is None
