import socket
from threading import Event
from typing import NoReturn

import pytest

from tarry.cli.doctor.finding import State
from tarry.cli.doctor.machine import check_python_and_extras, names, variables


def lacking(*packages: str) -> list[tuple[State, str]]:
    return [
        (extra.state, extra.words)
        for extra in check_python_and_extras(
            "postgresql://x", lambda package: package not in packages
        )
    ][1:]


def test_what_is_missing_is_wrong_only_if_it_is_needed() -> None:
    assert lacking() == [(State.OK, "all are installed")]
    assert lacking("matplotlib")[0][0] is State.OK
    assert lacking("asyncpg", "apsw") == [
        (State.WRONG, "missing for the service: pip install 'tarry[postgres,service]'")
    ]
    (_, found) = check_python_and_extras(None, lambda package: package != "asyncpg")
    assert found.state is State.OK
    assert "not installed: postgres" in found.words


def test_a_variable_that_nobody_knows_is_told() -> None:
    found = variables(["PATH", "TARRY_LISTN"], ["TARRY_LISTEN"])
    assert found.state is State.ADVICE
    assert found.words == "TARRY_LISTN is not a setting; did you mean TARRY_LISTEN?"
    assert variables(["TARRY_LISTEN", "TARRY_SEALING_KEYS"], ["TARRY_LISTEN"]).state is State.OK
    assert variables([], []).words == "none are set"


def test_a_name_is_looked_up() -> None:
    assert names("127.0.0.1").words == "127.0.0.1 resolves to 127.0.0.1"


@pytest.mark.parametrize(
    ("number", "state"), [(socket.EAI_NONAME, State.ADVICE), (socket.EAI_AGAIN, State.WRONG)]
)
def test_without_a_resolver_it_is_wrong(number: int, state: State) -> None:
    def fail(*_args: object, **_options: object) -> NoReturn:
        raise socket.gaierror(number, "why")

    assert names(look_up=fail).state is state


def test_a_resolver_that_says_nothing_is_not_waited_for() -> None:
    told = Event()

    def hang(*_args: object, **_options: object) -> NoReturn:
        told.wait()
        raise socket.gaierror(socket.EAI_AGAIN, "why")

    found = names(patience=0.01, look_up=hang)
    told.set()
    assert (found.state, "within 0.01 s" in found.words) == (State.WRONG, True)
