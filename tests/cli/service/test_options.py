"""Where the settings of the service's commands come from, and how errors end a command."""

import asyncio
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tarry.cli.service.options import (
    StopSignals,
    allow_network_option,
    config_option,
    db_option,
    dispatch_limits,
    dispatch_options,
    ended,
    ports_option,
    quota_options,
    seal_payloads_option,
    serving,
)
from tarry.errors import NotFound, SettingsError, StoreError, StoreUnavailable


@click.command
@config_option
@db_option(required=True)
@allow_network_option
@ports_option
@serving
async def show(*, db: str, allow_network: tuple[str, ...], ports: str) -> None:
    click.echo(f"{db} {' '.join(allow_network)} {ports}")


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.chdir(tmp_path)
    for name in (
        "DB",
        "ALLOW_NETWORK",
        "PORTS",
        "MOST_WAITING",
        "DISK_RESERVE",
        "GRACE",
        "LEASE",
        "IN_FLIGHT",
    ):
        monkeypatch.delenv(f"TARRY_{name}", raising=False)
    return CliRunner()


def one_line(result: Result, code: int) -> str:
    assert result.exit_code == code
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_a_flag_counts_more_than_the_environment_and_that_more_than_the_file(
    runner: CliRunner,
) -> None:
    Path("tarry.toml").write_text('db = "memory:file"\nports = "1"\nallow_network = ["::1/128"]\n')
    assert runner.invoke(show, []).stdout == "memory:file ::1/128 1\n"
    environment = {"TARRY_DB": "memory:environment", "TARRY_PORTS": "2"}
    assert runner.invoke(show, [], env=environment).stdout == "memory:environment ::1/128 2\n"
    flags = ["--db", "memory:flag"]
    assert runner.invoke(show, flags, env=environment).stdout == "memory:flag ::1/128 2\n"


def test_a_file_may_be_named_and_is_not_looked_for_then(runner: CliRunner) -> None:
    Path("tarry.toml").write_text('db = "memory:here"\n')
    Path("other.toml").write_text('db = "memory:other"\n')
    assert "memory:other" in runner.invoke(show, ["--config", "other.toml"]).stdout


def test_several_networks_come_from_one_variable_or_several_flags(runner: CliRunner) -> None:
    environment = {"TARRY_DB": "memory:", "TARRY_ALLOW_NETWORK": "10.0.0.0/8 ::1/128"}
    assert "10.0.0.0/8 ::1/128" in runner.invoke(show, [], env=environment).stdout
    flags = ["--allow-network", "10.1.0.0/16", "--allow-network", "10.2.0.0/16"]
    assert "10.1.0.0/16 10.2.0.0/16" in runner.invoke(show, flags, env=environment).stdout


@click.command
@config_option
@quota_options
def quotas(*, most_waiting: int | None, disk_reserve: int | None) -> None:
    click.echo(f"{most_waiting} {disk_reserve}")


def test_quotas_come_from_flags_the_environment_and_the_file(runner: CliRunner) -> None:
    assert runner.invoke(quotas, []).stdout == "None None\n"
    Path("tarry.toml").write_text('most_waiting = 10\ndisk_reserve = "1.5GB"\n')
    assert runner.invoke(quotas, []).stdout == "10 1500000000\n"
    environment = {"TARRY_MOST_WAITING": "20", "TARRY_DISK_RESERVE": "2MB"}
    assert runner.invoke(quotas, [], env=environment).stdout == "20 2000000\n"
    flags = ["--most-waiting", "0", "--disk-reserve", "0"]
    assert runner.invoke(quotas, flags, env=environment).stdout == "0 0\n"
    refused = runner.invoke(quotas, ["--disk-reserve", "much"])
    assert (refused.exit_code, "256MB" in refused.stderr) == (2, True)


@click.command
@config_option
@seal_payloads_option
def sealed(*, seal_payloads: bool) -> None:
    click.echo(seal_payloads)


def test_a_switch_comes_from_its_flag_the_environment_and_the_file(runner: CliRunner) -> None:
    assert runner.invoke(sealed, []).stdout == "False\n"
    assert runner.invoke(sealed, ["--seal-payloads"]).stdout == "True\n"
    assert runner.invoke(sealed, [], env={"TARRY_SEAL_PAYLOADS": "1"}).stdout == "True\n"
    Path("tarry.toml").write_text("seal_payloads = true\n")
    assert runner.invoke(sealed, []).stdout == "True\n"
    assert runner.invoke(sealed, [], env={"TARRY_SEAL_PAYLOADS": "0"}).stdout == "False\n"


def test_without_a_database_the_command_line_is_wrong(runner: CliRunner) -> None:
    result = runner.invoke(show, [])
    assert result.exit_code == 2
    assert "--db" in result.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('port = "1"', "there is no setting 'port'; did you mean 'ports'?"),
        ('nothing_like_it = "x"', "known are"),
        ("db = ", "tarry.toml cannot be read"),
    ],
)
def test_a_key_that_nobody_knows_is_an_error(runner: CliRunner, text: str, told: str) -> None:
    Path("tarry.toml").write_text(text)
    assert told in one_line(runner.invoke(show, []), 2)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('key = ["a"]', "the setting 'key' must be a text or a number"),
        ("db = {a = 1}", "the setting 'db' must be a text or a number"),
        ("in_flight = true", "the setting 'in_flight' must be a text or a number"),
        ("seal_payloads = 1", "the setting 'seal_payloads' must be true or false"),
        ("allow_network = [[]]", "the setting 'allow_network' must be a text, or a list of them"),
    ],
)
def test_a_value_that_no_option_could_be_given_is_an_error(
    runner: CliRunner, text: str, told: str
) -> None:
    Path("tarry.toml").write_text(text)
    assert told in one_line(runner.invoke(show, []), 2)


def test_a_named_file_that_is_not_there_is_an_error(runner: CliRunner) -> None:
    assert "gone.toml" in one_line(runner.invoke(show, ["--config", "gone.toml"]), 2)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("ports", "x", "numbers"), 2),
        (StoreError("it is damaged"), 3),
        (StoreUnavailable("the disk is full"), 3),
        (NotFound("application", "x"), 1),
    ],
)
def test_an_error_ends_a_command_with_one_line_and_its_code(
    runner: CliRunner, error: Exception, code: int
) -> None:
    @click.command
    @serving
    async def fail() -> None:
        raise error

    assert str(error) in one_line(runner.invoke(fail, []), code)


def test_who_is_told_twice_hurries_and_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    async def tell() -> list[str]:
        calls: list[str] = []
        signals = StopSignals()
        signals.end_of_start()
        signals.on_second_signal(lambda: calls.append("before"))
        signals()
        assert signals.stop.is_set()
        assert not signals.hurry.is_set()
        signals()
        assert signals.hurry.is_set()
        signals.on_second_signal(lambda: calls.append("after"))
        signals()
        return calls

    assert asyncio.run(tell()) == ["before", "after"]
    assert capsys.readouterr().err == "Stopping now, without waiting for attempts in flight.\n"


def test_who_is_told_to_stop_before_it_was_ready_waits_for_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @serving
    async def begin() -> None:
        signals = StopSignals()
        asyncio.get_running_loop().call_soon(signals)
        await asyncio.Event().wait()  # such as for another process that changes the schema

    with pytest.raises(click.exceptions.Exit) as left:
        begin()
    assert left.value.exit_code == 0
    assert capsys.readouterr().err == "stopped before it was ready\n"


def test_a_dispatcher_that_left_attempts_on_their_way_ends_with_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(click.exceptions.Exit) as left:
        ended(drained=False)
    assert left.value.exit_code == 1
    ended(drained=True)
    assert capsys.readouterr().err == "stopped; no attempts are in flight\n"


@pytest.mark.parametrize(("lease", "margin"), [(10.0, 2.0), (1.0, 0.2)])
def test_a_dispatcher_stops_sending_before_its_lease_ends(lease: float, margin: float) -> None:
    limits = dispatch_limits(in_flight=7, lease=lease, grace=3)
    assert (limits.in_flight, limits.lease, limits.grace) == (7, lease, 3)
    assert limits.margin == pytest.approx(margin)


def test_what_a_dispatcher_does_at_a_time_comes_from_the_environment_too(runner: CliRunner) -> None:
    @click.command
    @config_option
    @dispatch_options
    def told(*, in_flight: int, lease: float, grace: float) -> None:
        click.echo(f"{in_flight} {lease} {grace}")

    assert runner.invoke(told).stdout == "1000 10.0 30.0\n"
    environment = {"TARRY_IN_FLIGHT": "5", "TARRY_LEASE": "2", "TARRY_GRACE": "0"}
    assert runner.invoke(told, env=environment).stdout == "5 2.0 0.0\n"
    Path("tarry.toml").write_text("in_flight = 6\ngrace = 1.5\n")
    assert runner.invoke(told).stdout == "6 10.0 1.5\n"


def test_a_command_of_the_service_writes_no_core_files(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[str] = []
    monkeypatch.setattr(
        "tarry.cli.service.options.write_no_core_files", lambda: prepared.append("")
    )
    assert runner.invoke(show, ["--db", "sqlite:///hooks.db"]).exit_code == 0
    assert len(prepared) == 1
