"""The page about the HTTP API tells what is served, to whom, with which codes and limits."""

import ast
import re
from collections.abc import Iterator
from inspect import getsource
from pathlib import Path

import msgspec
import pytest
import svix.api

from tarry.service import api
from tarry.service.api.http import connection, idempotency, operation, paging, parsing, request
from tarry.service.api.http.access import ALLOWS, CACHED_FOR, Need
from tarry.service.api.http.metrics import RequestMetrics, delivery_lines
from tarry.service.api.http.operation import Operation
from tarry.service.api.open import operations
from tarry.service.api.resources.applications import portal
from tarry.service.api.resources.attempts.statuses import SHOWN_STATES, status_of, text_of
from tarry.service.api.resources.endpoints import recovery, secrets, stats
from tarry.service.api.resources.endpoints.bodies import Own
from tarry.service.api.resources.endpoints.headers import SENSITIVE
from tarry.service.api.resources.environment.keys import ENVIRONMENT_SCOPES
from tarry.service.api.resources.environment.tasks import KIND_OF_WORK
from tarry.service.api.resources.event_types import event_types
from tarry.service.api.resources.messages import batch_shape, bodies, history, newest_first
from tarry.service.api.resources.messages.bodies import MessageIn
from tarry.service.dispatch.gauges import Gauges
from tarry.service.dispatch.lane import endpoint_record as record
from tarry.service.model import allowed
from tarry.service.model.delivery import LIVE, Delivery, State
from tarry.service.model.key import Scope

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "service-http.md").read_text()
NEEDS = {need: "no key" if need is Need.NOTHING else f"*{need.name.lower()}*" for need in Need}

# --- Operations ---------------------------------------------------------------------------------


def sdk_methods() -> Iterator[tuple[tuple[str, str], str]]:
    """What each method of the SDK asks for: how and where, and its name."""
    for module in sorted(Path(svix.api.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.FunctionDef):
                for how, way in re.findall(
                    r"method='(\w+)', path='/api/v1(/[^']*)'", ast.unparse(node)
                ):
                    part = module.stem.replace("webhook_endpoint", "webhook.endpoint")
                    yield (how.upper(), plain(way)), f"{part}.{node.name}"


def plain(path: str) -> str:
    """A path, whatever its names are called."""
    return re.sub(r"\{\w+\}", "x", path)


SDK: dict[tuple[str, str], str] = {}
for asked, named in sdk_methods():  # of two names for the same the first one
    SDK.setdefault(asked, named)
GROUPS = list(dict.fromkeys(one.group for one in operations()))


def row(one: Operation) -> str:
    """What the page says of an operation."""
    named = SDK.get((one.method, plain(one.path)))
    cells = (
        f"`{one.method} {one.path}`",
        one.summary,
        NEEDS[one.needs],
        ", ".join(map(str, one.statuses)),
        f"`{named}`" if named else "",
    )
    return "| " + " | ".join(cells) + " |"


@pytest.mark.parametrize("group", GROUPS)
def test_every_operation_is_told_with_what_it_needs_and_what_the_sdk_calls_it(group: str) -> None:
    rows = "\n".join(row(one) for one in operations() if one.group == group)
    head = "| request | does | needs | answers | SDK |\n|---|---|---|---|---|"
    text = f"### {group}\n\n{head}\n{rows}\n"
    assert text in PAGE, f"the page should have\n{text}"


def test_no_operation_is_made_up() -> None:
    told = re.findall(
        r"^\| `((?:GET|POST|PUT|PATCH|DELETE) /[^`]*)` \|.*\|.*\|.*\|", PAGE, re.MULTILINE
    )
    assert sorted(told) == sorted(f"{one.method} {one.path}" for one in operations())


def test_the_parts_of_the_sdk_are_told_with_how_much_of_them_is_served() -> None:
    served = {(one.method, plain(one.path)) for one in operations()}
    parts: dict[str, set[tuple[str, str]]] = {}
    for asked_for, named in sdk_methods():
        parts.setdefault(named.rpartition(".")[0], set()).add(asked_for)
    text = (ROOT / "docs" / "howto" / "use-the-svix-sdks.md").read_text()
    told = dict(re.findall(r"^\| `([\w.]+)` \| (\d+ of \d+) \|", text, re.MULTILINE))
    assert told == {
        part: f"{len(known & served)} of {len(known)}"
        for part, known in parts.items()
        if known & served
    }


@pytest.mark.parametrize(("heading", "kind"), [("Messages", MessageIn), ("Endpoints", Own)])
def test_every_field_is_told(heading: str, kind: type[msgspec.Struct]) -> None:
    _, _, after = PAGE.partition(f"\n## {heading}\n")
    rows = [
        line.split("|")[1] for line in after.partition("\n## ")[0].splitlines() if "| `" in line
    ]
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert told == {field.encode_name for field in msgspec.structs.fields(kind)}


# --- Keys ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", Scope)
def test_every_scope_is_told_with_what_it_opens(scope: Scope) -> None:
    opens = ", ".join(NEEDS[need] for need in Need if need in ALLOWS[scope] - {Need.NOTHING})
    whose = "a program" if scope in ENVIRONMENT_SCOPES else "a tenant"
    text = f"| `{scope}` | {whose} | {opens} |"
    assert text in PAGE, f"the page should have\n{text}"


@pytest.mark.parametrize("need", [need for need in Need if need is not Need.NOTHING])
def test_every_need_is_told(need: Need) -> None:
    assert f"\n| {NEEDS[need]} | " in PAGE


# --- Errors, statuses, tasks --------------------------------------------------------------------


def codes() -> set[tuple[str, str]]:
    """Every status and code that is answered."""
    package = Path(str(api.__file__)).parent
    source = "\n".join(path.read_text() for path in package.rglob("*.py"))
    refused = {("400", code) for code in re.findall(r'BadRequest\(\s*"([\w ]+)"', source)}
    return refused | set(re.findall(r'\b([45]\d\d|INSIDE), "([\w ]+)"', source))


@pytest.mark.parametrize(("status", "code"), sorted(codes()))
def test_every_code_is_told_with_its_status(status: str, code: str) -> None:
    number = "500" if status == "INSIDE" else status
    assert re.search(rf"^\| {number} \| `{code}` \| ", PAGE, re.MULTILINE)


@pytest.mark.parametrize("state", SHOWN_STATES - LIVE)
@pytest.mark.parametrize("expanded", [False, True])
def test_every_end_of_a_delivery_is_told_as_the_sdks_know_it(
    state: State, *, expanded: bool
) -> None:
    status = status_of(delivery(state), expanded=expanded)
    (told,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{state}` |"))
    assert f"{int(status)}, `{text_of(status)}`" in told


@pytest.mark.parametrize("tries", [0, 1])
def test_what_waits_is_told_as_the_sdks_know_it(tries: int) -> None:
    status = status_of(delivery(State.WAITING, tries), expanded=True)
    words = "tried already" if tries else "not tried yet"
    (told,) = (
        line
        for line in PAGE.splitlines()
        if line.startswith("| `ready`, `waiting`") and words in line
    )
    assert f"{int(status)}, `{text_of(status)}`" in told


def delivery(state: State, tries: int = 1) -> Delivery:
    """A delivery that stands so."""
    return Delivery(lane=1, seq=1, message="msg_x", state=state, tries=tries, accepted_at=0.0)


@pytest.mark.parametrize("kind", KIND_OF_WORK.values())
def test_every_kind_of_task_is_told(kind: str) -> None:
    assert f"| `{kind}` |" in PAGE


def test_every_metric_is_told() -> None:
    numbers = dict.fromkeys(Gauges.__struct_fields__, 0)
    idle = msgspec.convert({**numbers, "lanes": {}}, Gauges)
    written = "\n".join((*RequestMetrics().lines(), *delivery_lines(idle)))
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", written, re.MULTILINE))
    for name, words in re.findall(r"^# HELP (\w+) (.*)\.$", written, re.MULTILINE):
        assert f"| `{name}` | {kinds[name]} | {words} |" in PAGE


# --- Limits -------------------------------------------------------------------------------------

KIB, DAY = 1024, 86_400
LIMITS = {
    "body": f"{operation.MOST_BYTES // KIB} KiB",
    "event type": f"{event_types.MOST_BYTES // KIB // KIB} MiB",
    "field": f"{batch_shape.MOST_FIELD // KIB} KiB",
    "message": f"{bodies.MOST_BODY // KIB:,} KiB",
    "payload": f"{allowed.MOST_BYTES // KIB // KIB} MiB",
    "batch": f"{bodies.MOST_BATCH_BYTES // KIB // KIB} MiB",
    "messages of a batch": f"{batch_shape.MOST_MESSAGES:,} messages",
    "head": f"{connection.MOST_HEAD // KIB} KiB",
    "time": f"{connection.REQUEST_TIME:g} s",
    "query": f"{parsing.MOST_FIELDS} fields",
    "key": f"{request.MOST_KEY} characters",
    "page": f"1 to {paging.MOST_PER_PAGE}",
    "expunged": f"{history.MOST_IDS} ids",
    "recent": f"{newest_first.LIST_SPAN / DAY:g} days",
    "replay": f"{recovery.LONGEST_PERIOD / DAY:g} days",
    "stats": f"{stats.LONGEST_PERIOD / DAY:g} days",
    "revoked": f"{CACHED_FOR:g} s",
    "claims": f"{idempotency.CLAIMED_FOR:g} s",
    "grace": f"{secrets.WEEK / DAY:g} days",
    "portal": f"{portal.HOUR / 3600:g} hour to {portal.WEEK / DAY:g} days",
}


@pytest.mark.parametrize("said", LIMITS.values(), ids=LIMITS)
def test_every_limit_is_told(said: str) -> None:
    assert said in PAGE


def test_headers_that_are_not_shown_again_are_told() -> None:
    assert ", ".join(f"`{name}`" for name in sorted(SENSITIVE)) in " ".join(PAGE.split())


# --- News ---------------------------------------------------------------------------------------


def test_every_operational_event_is_told() -> None:
    package = Path(str(api.__file__)).parent
    source = getsource(record) + "".join(path.read_text() for path in package.rglob("*.py"))
    kinds = set(
        re.findall(r'"(endpoint\.(?:created|updated|deleted|disabled|paused|failing))"', source)
    )
    kinds |= set(re.findall(r'"(message\.attempt\.\w+)"', source))
    told = (ROOT / "docs" / "howto" / "hear-of-what-happens.md").read_text()
    assert {kind for kind in kinds if f"| `{kind}` |" in told} == kinds
