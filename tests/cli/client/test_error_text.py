import json
import ssl

import pytest

from tarry.cli.client.error_text import connection_error_text, refusal_text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"detail": [{"loc": ["body", "url"], "msg": "no URL", "type": "x"}, "odd"]},
            "422 invalid: body.url: no URL; odd",
        ),
        ({"code": "c", "detail": "two\nlines"}, "422 c: two lines"),
        ({}, "422 invalid: it says nothing more"),
        ("text", "422 invalid: text"),
        ({"code": "c", "detail": "\x1b[2J"}, "422 c: \\x1b[2J"),
    ],
)
def test_a_refusal_is_one_line(body: object, said: str) -> None:
    assert refusal_text(422, json.dumps(body).encode(), ("app",)) == said


@pytest.mark.parametrize("body", [b"", b"<html>"])
def test_one_without_words_is_a_line_all_the_same(body: bytes) -> None:
    assert refusal_text(404, body, ("app", "shop")) == "404 invalid: it says nothing more"


def test_what_is_not_there_is_called_by_its_name() -> None:
    body = b'{"code":"not_found","detail":"there is no such message"}'
    path = ("app", "shop", "msg", "order-1", "endpoint", "till")
    assert refusal_text(404, body, path) == "404 not_found: there is no message 'order-1'"


def test_a_certificate_that_nobody_vouches_for_is_told() -> None:
    unproven = ssl.SSLCertVerificationError(1, "[SSL] verify failed")
    unproven.verify_message = "self-signed certificate"
    assert (
        connection_error_text(unproven)
        == "its certificate is not trusted (self-signed certificate)"
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (OSError("odd"), "odd"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_what_is_in_the_way_is_told_in_the_system_s_words(error: OSError, words: str) -> None:
    assert connection_error_text(error) == words
