import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest

from tarry.cli.doctor.finding import State
from tarry.cli.doctor.postgres import judged, of_server

GOOD = {"version": 150_004, "named": "15.4", "commit": "on", "fsync": "on", "most": 100, "used": 3}


@pytest.mark.parametrize(
    ("change", "check", "state"),
    [
        ({}, "version", State.OK),
        ({"version": 120_001, "named": "12.1"}, "version", State.WRONG),
        ({}, "commit", State.OK),
        ({"commit": "off"}, "commit", State.ADVICE),
        ({"fsync": "off"}, "commit", State.WRONG),
        ({}, "connections", State.OK),
        ({"most": 10}, "connections", State.ADVICE),
        ({"used": 90}, "connections", State.ADVICE),
    ],
)
def test_settings_are_judged(change: dict[str, object], check: str, state: State) -> None:
    found = {one.check: one.state for one in judged(**{**GOOD, **change})}  # type: ignore[arg-type]  # by name
    assert found[check] is state


@pytest.mark.anyio
async def test_a_real_server_is_asked(database_url: str) -> None:
    found = {one.check: one for one in await of_server(database_url)}
    assert list(found) == ["version", "commit", "connections"]
    assert found["version"].state is State.OK


@pytest.mark.anyio
async def test_one_that_is_not_there_is_told() -> None:
    (found,) = await of_server("postgresql://127.0.0.1:1/x")
    assert found.state is State.WRONG


@pytest.mark.anyio
async def test_one_that_goes_away_meanwhile_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lose(*_: object, **__: object) -> None:
        raise asyncpg.InternalClientError("cannot switch to state 11")

    monkeypatch.setattr(asyncpg, "connect", lose)
    (found,) = await of_server("postgresql://127.0.0.1:1/x")
    assert found.state is State.WRONG
