import os

import pytest

from tarry.testing.receiver import Receiver
from tests.curl import request_of, run_curl, words

URL = "http://127.0.0.1:8400/api"


def test_words_are_what_a_shell_makes_of_them() -> None:
    command = """curl -s "a $NAME" \\\n    '{"b": "$NAME"}'"""
    expected = ["curl", "-s", "a value", '{"b": "$NAME"}']
    assert words(command, {**os.environ, "NAME": "value"}) == expected


def test_a_request_without_data_is_a_get() -> None:
    request = request_of(["-s", URL, "-H", "authorization: Bearer k"])
    assert (request.method, str(request.url), request.content) == ("GET", URL, b"")
    assert request.headers["authorization"] == "Bearer k"


def test_a_request_with_data_is_a_post_of_a_form_unless_it_says_otherwise() -> None:
    request = request_of([URL, "-d", '{"a": 1}'])
    assert (request.method, request.content) == ("POST", b'{"a": 1}')
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    request = request_of([URL, "-H", "Content-Type: application/json", "-d", "{}"])
    assert request.headers.get_list("content-type") == ["application/json"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["-X", "PUT", URL],
        ["--silent", URL],
        ["-sd", "{}", URL],
        ["-d", "a", "-d", "b", URL],
        ["-d", "@file", URL],
        [URL, URL],
        [],
    ],
)
def test_what_it_does_not_know_is_an_error(arguments: list[str]) -> None:
    with pytest.raises(ValueError, match=r"does not know|values to unpack"):
        request_of(arguments)


def test_a_response_that_is_no_success_is_an_error() -> None:
    with Receiver(bodies=True) as receiver:
        run_curl(f"curl -s {receiver.url} -d '{{\"order\": 1}}'", os.environ)
        assert receiver.arrivals[0].body == b'{"order": 1}'
        receiver.go_down(500)
        with pytest.raises(AssertionError, match="500"):
            run_curl(f"curl -s {receiver.url} -d x", os.environ)
