"""The docs' curl commands, carried out without curl: a bare machine does not have it.

Only the options that the docs use are known; any other one is an error.
"""

import subprocess
from collections.abc import Mapping, Sequence

import httpx

from tests.plain_http import PLAIN


def run_curl(command: str, env: Mapping[str, str]) -> str:
    """Do what a shell does with a `curl ...` command and return the body of the response.

    A response that is no success is an error, as with curl's option --fail-with-body.
    """
    program, *arguments = words(command, env)
    assert program == "curl"
    with httpx.Client(trust_env=False, **PLAIN) as client:
        response = client.send(request_of(arguments))
    assert response.is_success, f"{command}: {response.status_code} {response.text}"
    return response.text


def words(command: str, env: Mapping[str, str]) -> list[str]:
    """Split a command into words as bash does: quotes, variables, lines that go on."""
    split = ["/bin/bash", "-c", f"printf '%s\\0' {command}"]
    printed = subprocess.run(split, env=env, capture_output=True, text=True, check=True).stdout
    return printed.split("\0")[:-1]


def request_of(arguments: Sequence[str]) -> httpx.Request:
    """Return the request that `curl ARGUMENTS` sends."""
    urls: list[str] = []
    headers: dict[str, str] = {}
    body: str | None = None
    left = iter(arguments)
    for word in left:
        match word:
            case "-s":
                pass
            case "-H":
                name, _, value = next(left).partition(": ")
                headers[name.lower()] = value
            case "-d" if body is None:
                body = next(left)
            case _ if word.startswith("-"):
                raise ValueError(f"tests/curl.py does not know curl's option {word} here")
            case _:
                urls.append(word)
    (url,) = urls
    if body is None:
        return httpx.Request("GET", url, headers=headers)
    if body.startswith("@"):
        raise ValueError("tests/curl.py does not know curl's -d @FILE")
    form = {"content-type": "application/x-www-form-urlencoded"}  # unless a header says otherwise
    return httpx.Request("POST", url, headers=form | headers, content=body)
