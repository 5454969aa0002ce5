import pytest

from tests.cli.shell import Shell


def test_an_application_is_made_changed_and_deleted(shell: Shell) -> None:
    typed = ("app", "create", "The bar", "--uid", "bar", "--rate", "5", "--metadata", "plan=pro")
    made = shell.json(*typed)
    assert (made["uid"], made["throttleRate"], made["metadata"]) == ("bar", 5, {"plan": "pro"})
    changed = shell.json(
        "app", "update", "bar", "--name", "Bar", "--clear", "rate", "--clear", "metadata"
    )
    assert (changed["name"], changed["throttleRate"], changed["metadata"]) == ("Bar", None, {})
    assert changed["uid"] == "bar"
    assert shell.json("app", "get", "bar") == changed
    assert shell.out("app", "delete", "bar", "--yes") == "bar is deleted\n"
    assert shell.wrong("app", "get", "bar") == (
        1,
        "Error: 404 not_found: there is no application 'bar'",
    )


def test_erasing_says_whether_there_was_anything_sealed(shell: Shell) -> None:
    nothing = "shop has no sealed payloads or responses\n"
    assert shell.out("app", "erase", "shop", "--yes") == nothing
    assert shell.json("app", "erase", "shop", "--yes") == {"erased": False}
    ended = shell.run("app", "erase", "shop", given="n\n")
    assert ended.exit_code == 2


def test_one_that_is_there_will_do_if_asked_for(shell: Shell) -> None:
    code, said = shell.wrong("app", "create", "again", "--uid", "shop")
    assert (code, "409 conflict" in said) == (1, True)
    found = shell.json("app", "create", "again", "--uid", "shop", "--if-missing")
    assert found == shell.json("app", "get", "shop")


def test_people_see_a_table_that_fits(shell: Shell) -> None:
    said = shell.out("app", "list")
    shop = shell.json("app", "get", "shop")
    assert all(word in said for word in ("Uid", "The shop", shop["id"]))
    assert max(map(len, said.splitlines())) <= 100
    assert "The shop" in shell.out("app", "get", "shop")


def test_a_long_list_is_shown_in_part_or_whole(shell: Shell) -> None:
    made = [shell.json("app", "create", f"a{number}")["id"] for number in range(3)]
    ended = shell.run("app", "list", "--limit", "2", "--json")
    assert len(ended.stdout.splitlines()) == 2
    assert ended.stderr == "There are more: use --limit N or --all.\n"
    assert set(made) < {line["id"] for line in shell.lines("app", "list", "--all")}
    assert len(shell.lines("app", "list", "--limit", "3")) == 3


def test_nothing_is_deleted_unless_somebody_is_sure(shell: Shell) -> None:
    for given in ("n\n", None):
        ended = shell.run("app", "delete", "shop", given=given)
        assert ended.exit_code == 2
        last = ended.stderr.splitlines()[-1]
        assert last.startswith("Error: Not confirmed. Run again with --yes to skip this question.")
    assert shell.json("app", "get", "shop")["uid"] == "shop"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("app", "create", "x", "--metadata", "plan"), "NAME=VALUE"),
        (("app", "get", ""), "is not a valid name"),
        (("app", "create", "x", "--rate", "0"), "--rate"),
    ],
)
def test_a_wrong_option_ends_with_two(shell: Shell, typed: tuple[str, ...], words: str) -> None:
    code, said = shell.wrong(*typed)
    assert (code, words in said) == (2, True), said
