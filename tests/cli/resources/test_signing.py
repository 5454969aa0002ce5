import pytest

from tests.cli.shell import Shell


@pytest.fixture
def endpoint(shell: Shell) -> str:
    made: str = shell.json("endpoint", "create", "shop", "https://example.com/in")["id"]
    return made


def test_the_secret_is_shown_and_changed(shell: Shell, endpoint: str) -> None:
    first = shell.out("endpoint", "secret", "shop", endpoint).strip()
    assert first.startswith("whsec_")
    second = shell.out("endpoint", "rotate", "shop", endpoint, "--grace", "1h").strip()
    assert second.startswith("whsec_")
    assert second != first
    assert shell.json("endpoint", "secret", "shop", endpoint) == {"key": second}
    typed = ("endpoint", "rotate", "shop", endpoint, "--secret", first)
    assert shell.json(*typed) == {"key": first}


def test_a_secret_that_is_none_is_refused(shell: Shell, endpoint: str) -> None:
    code, said = shell.wrong("endpoint", "rotate", "shop", endpoint, "--secret", "whsec_!")
    assert (code, "body.key" in said) == (1, True)


def test_headers_are_set_shown_and_taken_away(shell: Shell, endpoint: str) -> None:
    way = ("endpoint", "headers", "shop", endpoint)
    found = shell.json(*way, "--set", "x-a=1", "--set", "authorization=hush")
    assert found == {"headers": {"x-a": "1"}, "sensitive": ["authorization"]}
    said = shell.out(*way)
    assert "authorization  (not shown)" in said
    assert "hush" not in said
    assert shell.json(*way, "--unset", "authorization") == {
        "headers": {"x-a": "1"},
        "sensitive": [],
    }
