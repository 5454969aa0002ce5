"""The pages about the webhook service tell what its code says, and leave nothing out."""

import re
from collections.abc import Iterator
from enum import StrEnum
from inspect import getsource
from pathlib import Path

import click
import msgspec
import pytest

from tarry.cli.commands import tarry
from tarry.cli.service.options import KNOWN_SETTINGS
from tarry.core.outcome import Kind
from tarry.errors import ServiceError
from tarry.service.api.http import problem
from tarry.service.api.resources.messages import ingest
from tarry.service.dispatch.lane import endpoint_record as record
from tarry.service.dispatch.upkeep.upkeep import Kept
from tarry.service.model.application import Application
from tarry.service.model.delivery import MOVES, Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.settings import Limits, Parking
from tarry.service.model.task import Work
from tarry.service.model.waits import OTHER_WAITS, WAITS
from tarry.service.model.words import REASONS, STATES, state_of
from tarry.service.settings import Settings
from tarry.service.store import contract
from tarry.service.store.migrate import steps
from tarry.service.wire import client, egress, exchange, http1, sign
from tarry.testing import zoo
from tarry.testing.store_contract import TOPICS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
LIBRARY_COMMANDS = {"explain", "recommend", "schema", "storm"}
SERVICE_COMMANDS = sorted(set(tarry.commands) - LIBRARY_COMMANDS)
SHARED = "## Asking a server"
"""What stands there is told of all commands below."""
DIALECTS = {
    "SQLite": "tarry.service.store.sqlite.migrate",
    "PostgreSQL": "tarry.service.store.postgres.migrate",
}
CREATED = re.compile(r"^CREATE TABLE (?:tarry\.)?(\w+)", re.MULTILINE)


def page(name: str) -> str:
    """A page of the reference."""
    return (REFERENCE / name).read_text()


def section(text: str, heading: str) -> str:
    """What stands under a heading, up to the next one."""
    _, _, after = text.partition(f"{heading}\n")
    return re.split(r"^#+ ", after, maxsplit=1, flags=re.MULTILINE)[0]


def first_cells(table: str) -> list[str]:
    """What is marked as code in the first column of the tables in a text."""
    rows = (line for line in table.splitlines() if line.startswith("| `"))
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


# --- States, reasons, standings, works, kinds ---------------------------------------------------


@pytest.mark.parametrize("state", State)
def test_every_state_is_told_with_what_may_follow(state: State) -> None:
    rows = section(page("states.md"), "## Where a delivery stands").splitlines()
    (row,) = (row for row in rows if row.startswith(f"| `{state}` |"))
    follows = re.findall(r"`(\w+)`", row.split("|")[3])
    assert follows == sorted(MOVES[state])


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("## Why it waits, or how it ended", Reason),
        ("## How an endpoint stands", Standing),
        ("## What a task does", Work),
    ],
)
def test_every_member_is_told_and_none_is_made_up(heading: str, kind: type[StrEnum]) -> None:
    assert first_cells(section(page("states.md"), heading)) == [str(member) for member in kind]


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_told_in_the_words_that_users_read(reason: Reason) -> None:
    rows = section(page("states.md"), "## Why it waits, or how it ended").splitlines()
    words, state = REASONS[reason], STATES[state_of(reason)]
    cells = (f"`{reason}`", words.label, state.label, words.meaning, words.ended_by)
    assert "| " + " | ".join(cells) + " |" in rows


def test_every_wait_is_told_with_what_ends_it() -> None:
    table = section(page("states.md"), "## What ends a wait").splitlines()
    rows = [line for line in table if line.startswith("| ")]
    waits = [(f"`{reason}`", wait) for reason, wait in WAITS.items()]
    assert rows[1:] == [
        f"| {name} | {wait.holder} | {wait.ended_by} | {wait.woken_by} | {wait.by_when} |"
        for name, wait in (*waits, *OTHER_WAITS.items())
    ]


def test_every_kind_of_failure_is_told() -> None:
    assert first_cells(section(page("wire.md"), "## How an attempt fails")) == list(Kind)


def test_every_notice_of_a_lane_is_told() -> None:
    made = set(re.findall(r'"((?:endpoint|message)\.[a-z.]+)"', getsource(record)))
    told = first_cells(section(page("states.md"), "## What a notice says"))
    assert made <= set(told)


# --- Settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [Limits, Parking])
def test_every_setting_is_told_with_its_default(settings: type[msgspec.Struct]) -> None:
    for field in msgspec.structs.fields(settings):
        default = field.default
        many = isinstance(default, tuple)
        shown = ", ".join(map(str, default)) if many else f"{default:.10g}"
        row = re.compile(rf"^\| `{field.name}` \| .* \| {re.escape(shown)} \|$", re.MULTILINE)
        assert row.search(page("service.md")), f"{field.name} is {shown}"


@pytest.mark.parametrize("kind", [Settings, Application, Endpoint])
def test_every_field_is_told(kind: type[msgspec.Struct]) -> None:
    told = first_cells(page("service.md"))
    missing = [name for name in kind.__struct_fields__ if name not in told]
    assert not missing


def test_how_long_things_are_kept_is_told() -> None:
    told = section(page("schema.md"), "## How long things are kept")
    for name in Kept.__struct_fields__:
        assert f"`{name}`" in told


# --- The wire -----------------------------------------------------------------------------------

KIB = 1024
LIMITS = {
    "head": f"{exchange.MOST_HEAD // KIB} KiB; a longer one",
    "body": f"{exchange.MOST_READ // KIB} KiB are read, {exchange.MOST_KEPT // KIB} KiB are kept",
    "time": f"{exchange.TIMEOUT:g} s (`attempt_timeout`",
    "connection": f"TLS included | {exchange.CONNECT_TIMEOUT:g} s",
    "interim": f"(1xx) | {http1.MOST_INTERIM} |",
    "idle": f"{client.MOST_IDLE:,}, each for {client.IDLE_TIME:g} s",
    "URL": f"{egress.LONGEST_URL:,} characters",
    "headers": f"up to {sign.MOST_HEADERS} headers of its own, {sign.MOST_HEADER_BYTES // KIB} KiB",
}


@pytest.mark.parametrize("said", LIMITS.values(), ids=LIMITS)
def test_every_limit_of_the_wire_is_told(said: str) -> None:
    assert said in page("wire.md")


def test_every_header_that_is_heard_is_told() -> None:
    told = section(page("wire.md"), "## What is heard of an answer")
    assert sorted(re.findall(r"(?<!})`([a-z-]+)`", told)) == sorted(exchange.HEARD)


@pytest.mark.parametrize(
    "text", ["docs/howto/test-with-hostile-receivers.md", "docs/reference/testing.md"]
)
def test_the_size_of_the_zoo_is_told(text: str) -> None:
    assert f"{len(zoo.BEHAVIOURS)} ways to misbehave" in (ROOT / text).read_text()


# --- The database -------------------------------------------------------------------------------


def test_every_table_is_told_with_the_dialects_that_have_it() -> None:
    tables = {
        dialect: {name for step in steps(package) for name in CREATED.findall(step.sql)}
        for dialect, package in DIALECTS.items()
    }
    told: dict[str, set[str]] = {dialect: set() for dialect in DIALECTS}
    for name, where in re.findall(r"^\| `(\w+)` \| (\w+) \|", page("schema.md"), re.MULTILINE):
        for dialect in DIALECTS if where == "both" else [where]:
            told[dialect].add(name)
    assert told == tables


@pytest.mark.parametrize("protocol", [*contract.Store.__bases__[:-1], contract.Retention])
def test_every_protocol_of_the_store_has_its_place(protocol: type) -> None:
    name = f"{protocol.__module__}.{protocol.__qualname__}"
    assert f".. autoclass:: {name}\n" in page("store.md")


def test_every_topic_of_the_suite_for_stores_is_named() -> None:
    text = page("../howto/write-your-own-store.md")
    (told,) = re.findall(r"Each topic can be bound by itself.*?\n\n", text, re.DOTALL)
    named = re.findall(r"`(\w+)`", told)
    assert ["add", *named] == list(TOPICS)


# --- HTTP ---------------------------------------------------------------------------------------


def test_every_status_of_the_way_in_is_told_with_its_code() -> None:
    source = getsource(problem) + getsource(ingest)
    answers = re.findall(r'\b([2345]\d\d), "(\w+)"', source)
    rows = page("service-http.md").splitlines()
    for status, code in answers:
        assert any(row.startswith(f"| {status} |") and f"`{code}`" in row for row in rows), code
    assert answers


# --- The dashboard ------------------------------------------------------------------------------


def test_every_view_of_the_bar_is_told() -> None:
    routes = (ROOT / "src/tarry/service/web/static/routes.js").read_text()
    links = re.findall(r'link: "([^"]+)"', routes)
    text = page("../howto/use-the-dashboard.md")
    assert links
    assert [link for link in links if f"**{link}**" not in text] == []


# --- Commands and errors ------------------------------------------------------------------------


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it that take options."""
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from commands(below, name)
    else:
        yield name, command


@pytest.mark.parametrize("name", SERVICE_COMMANDS)
def test_every_option_of_a_command_is_told(name: str) -> None:
    text = page("cli.md")
    told = section(text, f"### tarry {name}")
    assert told
    if text.index(f"### tarry {name}\n") > text.index(SHARED):
        told += section(text, SHARED)
    for _, command in commands(tarry.commands[name], name):
        for option in command.params:
            if isinstance(option, click.Option):
                for spelled in (max(option.opts, key=len), *option.secondary_opts):
                    assert spelled in told, (command.name, spelled)


@pytest.mark.parametrize("name", SERVICE_COMMANDS)
def test_every_command_of_a_group_is_told(name: str) -> None:
    group = tarry.commands[name]
    if isinstance(group, click.Group):
        told = section(page("cli.md"), f"### tarry {name}")
        for below in group.commands:
            assert f"tarry {name} {below}" in told or f"`{below}`" in told, below


def test_every_command_and_option_has_a_help_text() -> None:
    for _, command in commands(tarry, "tarry"):
        assert command.help, command.name
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help or option.hidden, (command.name, option.name)


def test_every_variable_of_the_service_is_told() -> None:
    for name in SERVICE_COMMANDS:
        for _, command in commands(tarry.commands[name], name):
            for option in command.params:
                if option.envvar:
                    assert f"`{option.envvar}`" in page("cli.md")


def test_every_key_of_the_settings_file_is_told() -> None:
    _, _, told = page("cli.md").partition("An unknown name is an error.")
    assert sorted(re.findall(r"`(\w+)`", told.partition("\n\n")[0])) == sorted(KNOWN_SETTINGS)


def below(kind: type[ServiceError]) -> Iterator[type[ServiceError]]:
    """An error and all that are made from it."""
    yield kind
    for other in kind.__subclasses__():
        yield from below(other)


def test_every_error_of_the_service_is_told() -> None:
    told = first_cells(section(page("errors.md"), "## Of the webhook service"))
    wanted = {kind.__name__ for kind in below(ServiceError) if kind.__module__ == "tarry.errors"}
    assert wanted <= set(told)
