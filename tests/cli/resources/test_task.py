from tests.cli.shell import Shell


def test_tasks_are_listed_and_shown(shell: Shell) -> None:
    shell.out("endpoint", "create", "shop", "https://example.com/", "--uid", "till")
    task = shell.json("recover", "shop", "till", "--since", "1h", "--wait")
    assert shell.json("task", "get", task["id"]) == task
    assert shell.lines("task", "list", "--status", "finished") == [task]
    assert shell.lines("task", "list", "--task", "endpoint.replay") == []
    said = shell.out("task", "list")
    assert task["id"] in said
    assert max(map(len, said.splitlines())) <= 100


def test_an_unknown_one_is_named(shell: Shell) -> None:
    code, said = shell.wrong("task", "get", "qtask_x")
    assert (code, said) == (1, "Error: 404 not_found: there is no task 'qtask_x'")
