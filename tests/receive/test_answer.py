import pytest

from tarry.errors import MalformedHeaders, MessageReplayed, VerificationError
from tarry.receive.answer import Answer, answer_to, is_taken, too_large


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (MalformedHeaders("the header 'webhook-id' is missing"), 400),
        (VerificationError("no signature fits"), 401),
        (MessageReplayed("msg_1"), 200),
        (MessageReplayed("msg_1", handled=False), 503),
    ],
)
def test_each_refusal_has_its_status_and_says_why(refusal: VerificationError, status: int) -> None:
    answer = answer_to(refusal)
    assert (answer.status, answer.detail) == (status, str(refusal))


def test_who_comes_too_early_is_told_when_to_come_back() -> None:
    assert answer_to(MessageReplayed("msg_1", handled=False)).headers == (("retry-after", "5"),)
    assert answer_to(MessageReplayed("msg_1")).headers == ()


def test_a_body_that_is_too_large_is_told_the_limit() -> None:
    assert too_large(1000) == Answer(413, "the body is larger than 1000 bytes")


def test_only_2xx_takes_a_message() -> None:
    assert [status for status in (199, 200, 204, 299, 300, 404, 503) if is_taken(status)] == [
        200,
        204,
        299,
    ]
