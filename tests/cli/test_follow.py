import pytest

from tarry.cli.follow import poll
from tests.cli.shell import Shell


@pytest.fixture
def app(shell: Shell, request: pytest.FixtureRequest) -> str:
    """An application of its own for each test."""
    made: str = shell.json("app", "create", request.node.name)["id"]
    return made


def test_a_message_that_is_refused_ends_with_one_and_the_reason(shell: Shell, app: str) -> None:
    shell.out("endpoint", "create", app, shell.receiver.url, "--uid", "till")
    shell.receiver.script([400])
    told = shell.run("send", app, "order.paid", "--wait", "--timeout", "20s")
    assert told.exit_code == 1
    assert told.stderr.splitlines()[-1].startswith(f"till ({shell.receiver.url}): ")
    assert "400" in told.stderr


def test_one_that_waits_says_why_and_ends_in_time(shell: Shell, app: str) -> None:
    shell.out("endpoint", "create", app, shell.receiver.url, "--uid", "till")
    shell.out("endpoint", "pause", app, "till")
    told = shell.run("send", app, "order.paid", "--wait", "--timeout", "0.3s")
    assert told.exit_code == 1
    first, last = told.stderr.splitlines()
    assert "): It waits: paused." in first
    assert last == "not delivered within 300 ms; it is kept, and still waits"


def test_one_that_nobody_wants_is_said_to_be_so(shell: Shell, app: str) -> None:
    told = shell.run("send", app, "order.paid", "--wait")
    assert (told.exit_code, told.stderr) == (0, "there is no endpoint that wants it\n")


def test_what_is_looked_at_is_looked_at_until_it_is_so() -> None:
    seen = iter(range(10))
    assert poll(lambda: next(seen), lambda count: count == 2, timeout=5) == 2
    assert poll(lambda: 1, lambda count: count == 2, timeout=0.1) is None
