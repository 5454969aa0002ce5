"""The log line of a notice."""

import pytest

from tarry.service.dispatch.notice_text import notice_text
from tarry.service.model.delivery import Reason
from tarry.testing.samples import NOON, a_notice, an_endpoint

ENDPOINT = an_endpoint("app_1")


def text(**facts: str | float | None) -> str:
    """Return what is written of some facts."""
    kind, _, rest = notice_text(a_notice(ENDPOINT, facts=facts)).partition(f": {ENDPOINT.id}")
    assert kind == "endpoint.failing"
    return rest.strip()


def test_times_are_dates_and_what_is_not_known_is_left_out() -> None:
    assert text(since=NOON, share=0.5, why=None) == "since=2027-01-15T08:00:00.000Z share=0.5"
    assert text(attempted_at=NOON + 0.25, status=503) == (
        "attempted_at=2027-01-15T08:00:00.250Z status=503"
    )
    assert text() == ""


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("msg_2a", "msg_2a"),
        (Reason.EXHAUSTED, '"all attempts used up"'),
        ('it said "no"\nERROR all is lost', r'"it said \"no\"\nERROR all is lost"'),
        ("größer", "größer"),
        ("", '""'),
    ],
)
def test_a_text_is_one_word_or_in_quotes(value: str, written: str) -> None:
    assert text(why=value) == f"why={written}"
