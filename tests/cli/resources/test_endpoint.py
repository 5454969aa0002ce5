import pytest

from tests.cli.shell import Shell

URL = "https://example.com/in"


def test_an_endpoint_is_made_changed_and_deleted(shell: Shell) -> None:
    options = (
        *("--uid", "till", "--event-type", "order.paid", "--event-type", "order.sent"),
        *("--channel", "eu", "--rate", "5", "--concurrency", "2", "--fifo", "--blocking"),
        *("--description", "the till", "--metadata", "a=b", "--header", "x-a=1", "--disabled"),
    )
    for name in ("order.paid", "order.sent"):
        shell.out("event-type", "create", name)
    made = shell.json("endpoint", "create", "shop", URL, *options)
    assert made["eventTypes"] == ["order.paid", "order.sent"]
    assert (made["channels"], made["throttleRate"], made["concurrency"]) == (["eu"], 5, 2)
    assert (made["fifo"], made["blocking"], made["disabled"]) == (True, True, True)
    assert (made["description"], made["metadata"]) == ("the till", {"a": "b"})
    assert shell.json("endpoint", "headers", "shop", "till")["headers"] == {"x-a": "1"}
    cleared = ("uid", "event-types", "channels", "rate", "concurrency", "metadata", "description")
    typed = [part for name in cleared for part in ("--clear", name)]
    changed = shell.json(
        "endpoint", "update", "shop", "till", "--enable", "--no-fifo", "--url", f"{URL}2", *typed
    )
    assert (changed["url"], changed["fifo"], changed["standing"]) == (f"{URL}2", False, "enabled")
    nothing = ("uid", "eventTypes", "channels", "throttleRate", "concurrency")
    assert [changed[field] for field in nothing] == [None] * 5
    assert shell.json("endpoint", "get", "shop", made["id"]) == changed
    assert shell.lines("endpoint", "list", "shop") == [changed]
    assert shell.out("endpoint", "delete", "shop", made["id"], "--yes").endswith("is deleted\n")
    assert shell.wrong("endpoint", "get", "shop", "till") == (
        1,
        "Error: 404 not_found: there is no endpoint 'till'",
    )


def test_people_see_a_table_that_fits(shell: Shell) -> None:
    shell.out("endpoint", "create", "shop", f"{URL}/{'long' * 30}")
    said = shell.out("endpoint", "list", "shop")
    assert "https://example.com" in said
    assert "enabled" in said
    assert max(map(len, said.splitlines())) <= 100


@pytest.mark.parametrize(
    ("url", "words"),
    [("nonsense", "body.url"), ("http://10.0.0.1/", "body.url")],
)
def test_a_url_that_may_not_be_called_is_refused(shell: Shell, url: str, words: str) -> None:
    code, said = shell.wrong("endpoint", "create", "shop", url)
    assert (code, words in said) == (1, True), said
