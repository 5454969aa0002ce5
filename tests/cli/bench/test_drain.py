from pathlib import Path

import pytest

from tarry.cli.bench import drain as module
from tarry.cli.bench.drain import Mode, drain, open_unused
from tarry.cli.bench.sink import Sink
from tarry.errors import ServiceError, SettingsError
from tarry.service import open_hooks
from tarry.service.wire.seal import generate_key

pytestmark = pytest.mark.anyio


async def test_all_arrive_once_and_are_recorded(tmp_path: Path, a_sink: Sink) -> None:
    url = f"sqlite:////{str(tmp_path / 'a.db').lstrip('/')}"
    done = await drain(url, a_sink, deliveries=300, applications=3)
    assert (done.deliveries, done.lost, done.duplicated) == (300, 0, 0)
    assert min(done.accepted_per_second, done.delivered_per_second) > 0
    assert done.recorded_after >= 0
    assert done.cpu_microseconds


@pytest.mark.slow
async def test_two_workers_share_a_database_and_send_nothing_twice(
    database_url: str, a_sink: Sink
) -> None:
    done = await drain(database_url, a_sink, deliveries=500, applications=64, mode=Mode(2))
    assert (done.deliveries, done.lost, done.duplicated) == (500, 0, 0)
    assert done.cpu_microseconds is None


async def test_it_says_when_no_more_arrive(
    tmp_path: Path, a_sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUIET", 0.3)
    monkeypatch.setattr(Sink, "arrivals", lambda _self: 7)
    url = f"sqlite:////{str(tmp_path / 'a.db').lstrip('/')}"
    with pytest.raises(ServiceError, match="only 7 of 100 arrived"):
        await drain(url, a_sink, deliveries=100)


async def test_a_database_that_somebody_else_has_sealed_is_said_to_be_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:////{str(tmp_path / 'theirs.db').lstrip('/')}"
    async with open_hooks(url, sealing_keys=generate_key("theirs")) as hooks:
        await hooks.add_endpoint(await hooks.application("shop"), "https://example.com/")
    with pytest.raises(SettingsError, match="a database without applications"):
        async with open_unused(url):
            pass
    monkeypatch.delenv("TARRY_SEALING_KEYS")
    with pytest.raises(SettingsError, match="sqlite:///FILE"):
        async with open_unused("nonsense"):
            pass
