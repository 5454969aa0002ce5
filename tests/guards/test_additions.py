"""The walk-throughs of CONTRIBUTING.md are complete, and touch few files.

Each test makes a small addition in a copy of the project, in the files that the walk-through names
and in no others below src and docs. Then the addition works, and the guards of the copy pass. So a
file that is missing in a walk-through fails a test here, and so does one that is named for nothing.
"""

import json
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests import node
from tests.guards.project_copy import ProjectCopy
from tests.project_files import ROOT

pytestmark = pytest.mark.slow
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
MOST_FILES = {
    "an operation of the API": 3,
    "a jitter": 8,
    "a view of the dashboard": 3,
    "a command of `tarry`": 3,
}
"""How many files below src and docs an addition may change."""
CODE = re.compile(r"`([^`]+)`")
NAMED = re.compile(r"\b(?:src|docs)/\S+")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")
"""A word in a path that stands for a name of the contributor's own, such as NAME."""


@pytest.fixture
def copy(tmp_path: Path) -> ProjectCopy:
    return ProjectCopy(tmp_path / "project")


def section(heading: str) -> str:
    """Return the text below a heading of CONTRIBUTING.md."""
    _, found, after = PAGE.partition(f"\n## {heading}\n")
    assert found, heading
    return after.partition("\n## ")[0]


def named_files(heading: str) -> set[str]:
    """Return the files that a walk-through names, as patterns."""
    always, _, _ = section(heading).partition("\nOnly sometimes:")
    return {
        PLACEHOLDER.sub("*", name) for code in CODE.findall(always) for name in NAMED.findall(code)
    }


def check_files(copy: ProjectCopy, what: str) -> None:
    """Check that the changed files are those that the walk-through names, and few."""
    changed, named = copy.changed(), named_files(f"To add {what}")
    unnamed = {path for path in changed if not any(fnmatchcase(path, name) for name in named)}
    unused = {name for name in named if not any(fnmatchcase(path, name) for path in changed)}
    assert (unnamed, unused) == (set(), set())
    assert len(changed) <= MOST_FILES[what], sorted(changed)


def test_the_page_says_how_many_files_an_addition_touches() -> None:
    table = section("What an addition touches")
    rows = re.findall(r"^\| (\w.*?) \| (\d+) \|$", table, re.MULTILINE)
    assert {what: int(most) for what, most in rows} == MOST_FILES


# --- A jitter -----------------------------------------------------------------------------------

LATE = '''class Late(Value):
    """The last part of the curve: `Late(0.75)` is the last quarter."""

    start: float

    def __init__(self, start: float) -> None:
        settle(self, "start", checks.share("jitter.start", start))

    def wait(
        self, backoff: Backoff, attempts: int, memory: Memory, draw: float
    ) -> tuple[float, Memory]:
        """A wait in the last part of the curve."""
        del memory
        return backoff.curve(attempts) * (self.start + (1 - self.start) * draw), None


'''
LATE_FORM = """    "late": Form(
        Late,
        "The last part of the curve.",
        {"start": Key(SHARE, "Where that part begins.", required=True)},
    ),
"""
LATE_TEXT = """        case Late():
            return f"A wait is drawn evenly between {jitter.start * 100:g} % and the backoff."
"""
LATE_WAIT = """        case Late():
            return curve * (jitter.start + (1 - jitter.start) * draws)
"""
LATE_ROWS = """`kind = "late"`: The last part of the curve.

| key | what it is | holds | if left out |
|---|---|---|---|
| `start` | Where that part begins. | a number from 0 to 1 | must be given |

"""
LATE_STRATEGY = "st.register_type_strategy(Late, st.builds(Late, st.floats(0, 1)))\n"
LATE_PROGRAM = """
import json
import numpy
import tarry
from tarry.core.codec import from_dict, to_dict
from tarry.core.explain import sentences
from tarry.core.schema import policy_schema
from tarry.sim.waits import Waits, no_memory
from jsonschema import Draft202012Validator

policy = tarry.Policy(backoff=tarry.Fixed(8), jitter=tarry.Late(0.75))
document = to_dict(policy)
assert document["jitter"] == {"kind": "late", "start": 0.75}
assert from_dict(document) == policy
with open("src/tarry/policy.schema.json") as file:
    published = json.load(file)
assert published == policy_schema()
Draft202012Validator(published).validate(document)
document["jitter"]["start"] = 2
assert not Draft202012Validator(published).is_valid(document)
assert "between 75 % and the backoff" in " ".join(sentences(policy))
assert policy.wait(1, None, 0.5)[0] == 7
assert Waits(policy).draw(1, no_memory(1), numpy.array([0.5]))[0].tolist() == [7.0]
"""


def test_a_jitter_is_added_as_the_page_says(copy: ProjectCopy) -> None:
    copy.insert("src/tarry/core/jitter.py", "class Smooth(Value):", LATE)
    copy.insert("src/tarry/core/jitter.py", "\n\n\ndef levels(", " | Late")
    in_use = "from tarry.core.jitter import Decorrelated, Equal, Full, "
    for path in ("src/tarry/core/format.py", "src/tarry/__init__.py"):
        copy.insert(path, "NoJitter, Percent, Smooth\n", "Late, ")
        assert in_use in (copy.root / path).read_text()
    copy.insert("src/tarry/core/format.py", '    "smooth": Form(Smooth', LATE_FORM)
    copy.insert("src/tarry/__init__.py", '    "Linear",\n', '    "Late",\n')
    copy.insert("src/tarry/core/explain.py", "    NoJitter,\n", "    Late,\n")
    copy.insert("src/tarry/core/explain.py", "        case Smooth():\n", LATE_TEXT)
    copy.insert("src/tarry/sim/waits.py", "    NoJitter,\n", "    Late,\n")
    copy.insert("src/tarry/sim/waits.py", ", curve: Floats, draws: Floats\n) ->", " | Late")
    copy.insert("src/tarry/sim/waits.py", "        case Percent():\n", LATE_WAIT)
    schema = copy.run("-m", "tarry.cli", "schema")
    (copy.root / "src/tarry/policy.schema.json").write_text(schema)
    copy.insert("docs/reference/policy-file.md", '`kind = "smooth"`', LATE_ROWS)
    copy.insert(
        "docs/reference/api.md", ".. autoclass:: tarry.Smooth\n", ".. autoclass:: tarry.Late\n"
    )
    copy.insert("tests/core/conftest.py", "Full, Jitter, NoJitter,", "Late, ")
    copy.insert("tests/core/conftest.py", "st.register_type_strategy(Percent,", LATE_STRATEGY)
    copy.insert("tests/core/test_codec.py", 'smooth"\n', "late, ")
    check_files(copy, "a jitter")
    copy.run("-c", LATE_PROGRAM)
    core = ("tests/core/test_schema.py", "tests/core/test_codec.py")
    guards = ("tests/guards/test_docs_reference.py", "tests/guards/test_exports.py")
    copy.check(*core, *guards, "-k", "schema or reads_back or wrong or promised or policy_file")


# --- An operation of the API --------------------------------------------------------------------

ECHO_MODULE = '''"""The operation that returns what it is sent, to try a client out."""

from msgspec import Struct

from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.resources.call import Call

group = Group("Echo", "v1.echo")

'''
ECHO = '''
class EchoIn(Struct):
    """A word."""

    word: str


class EchoOut(Struct):
    """The word."""

    word: str


@group.post("/echo", needs=Need.LOOK, tenants=True)
async def echo(_call: Call, body: EchoIn) -> EchoOut:
    """Return a word."""
    return EchoOut(body.word)
'''
ECHO_ROW = "| `POST /echo` | Return a word | *look* | 200 |  |\n"
ECHO_TABLE = f"""### Echo

| request | does | needs | answers | SDK |
|---|---|---|---|---|
{ECHO_ROW}
"""
ECHO_PROGRAM = """
import asyncio, json, sys
import httpx
from tarry.service import open_hooks
from tarry.service.api.open import make_api, written
from tarry.service.api.server import serving

async def main():
    async with (
        open_hooks("sqlite:///hooks.db") as hooks,
        serving(await make_api(hooks, "key"), "127.0.0.1:0") as url,
        httpx.AsyncClient(base_url=url, headers={"authorization": "Bearer key"}) as client,
    ):
        answer = await client.post("/api/v1/echo", json={"word": "hello"})
        assert (answer.status_code, answer.json()) == (200, {"word": "hello"}), answer.text
        assert (await client.post("/api/v1/echo", json={"word": 1})).status_code == 422
        document = (await client.get("/api/v1/openapi.json")).json()
    assert document["paths"]["/api/v1/echo"]["post"]["summary"] == "Return a word"

asyncio.run(main())
"""
RESOURCES = "src/tarry/service/api/resources"
HTTP_PAGE = "docs/reference/service-http.md"


def in_a_group_that_exists(copy: ProjectCopy) -> None:
    file = copy.root / RESOURCES / "environment/whoami.py"
    file.write_text(f"{file.read_text()}\n{ECHO}")
    row = "| `GET /auth/whoami` |"
    table = (copy.root / HTTP_PAGE).read_text()
    (line,) = (line for line in table.splitlines() if line.startswith(row))
    (copy.root / HTTP_PAGE).write_text(table.replace(f"{line}\n", f"{line}\n{ECHO_ROW}"))


def in_a_group_of_its_own(copy: ProjectCopy) -> None:
    copy.write(f"{RESOURCES}/environment/echo.py", ECHO_MODULE + ECHO)
    copy.insert("src/tarry/service/api/open.py", "    health,\n", "    echo,\n")
    copy.insert("src/tarry/service/api/open.py", "    health.group,\n", "    echo.group,\n")
    copy.insert(HTTP_PAGE, "### Health\n", ECHO_TABLE)


@pytest.mark.parametrize(
    ("add", "touched"), [(in_a_group_that_exists, 2), (in_a_group_of_its_own, 3)]
)
def test_an_operation_is_added_as_the_page_says(
    copy: ProjectCopy, add: Callable[[ProjectCopy], None], touched: int
) -> None:
    add(copy)
    if add is in_a_group_of_its_own:
        check_files(copy, "an operation of the API")
    assert len(copy.changed()) == touched
    copy.run("-c", ECHO_PROGRAM)
    api = ("tests/service/api/openapi/test_document.py", "tests/service/api/test_open.py")
    copy.check("tests/guards/test_docs_http.py", *api, "-k", "operation or document")


# --- A command ----------------------------------------------------------------------------------

SHOUT = '''"""`tarry shout`: print a word in capital letters."""

import json

import click

from tarry.cli.output.tables import json_option


@click.command(epilog="Exit codes: 0, success; 2, the command line is wrong.")
@click.argument("word")
@json_option
def shout(word: str, *, as_json: bool) -> None:
    """Print WORD in capital letters."""
    click.echo(json.dumps({"word": word.upper()}) if as_json else word.upper())
'''
SHOUT_TEST = '''"""A word is printed in capital letters."""

import pytest
from click.testing import CliRunner

from tarry.cli.commands import tarry


@pytest.mark.parametrize(
    ("typed", "printed"), [(["a"], "A\\n"), (["a", "--json"], '{"word": "A"}\\n')]
)
def test_a_word_is_printed_in_capital_letters(typed: list[str], printed: str) -> None:
    assert CliRunner().invoke(tarry, ["shout", *typed]).stdout == printed
'''
SHOUT_PAGE = """### tarry shout

```text
tarry shout WORD [--json]
```

Prints a word in capital letters.

```console
$ tarry shout hello
```

"""


def test_a_command_is_added_as_the_page_says(copy: ProjectCopy) -> None:
    copy.write("src/tarry/cli/service/shout.py", SHOUT)
    copy.write("tests/cli/service/test_shout.py", SHOUT_TEST)
    copy.insert(
        "src/tarry/cli/commands.py",
        '        "completion": "tarry.cli.completion",\n',
        '        "shout": "tarry.cli.service.shout",\n',
    )
    copy.insert("docs/reference/cli.md", "### tarry completion\n", SHOUT_PAGE)
    check_files(copy, "a command of `tarry`")
    assert re.search(
        r"^  shout +Print WORD in", copy.run("-m", "tarry.cli", "--help"), re.MULTILINE
    )
    assert copy.run("-m", "tarry.cli", "shout", "hello") == "HELLO\n"
    tests = (
        "tests/cli/test_commands.py",
        "tests/guards/test_docs_service.py",
        "tests/guards/test_house.py",
    )
    copy.check("tests/cli/service/test_shout.py", *tests, "-k", "shout or house or help or command")


# --- A view -------------------------------------------------------------------------------------

STATIC = "src/tarry/service/web/static"
VIEW = """// @ts-check
// The environment of the key that the user signed in with.

import { element } from "../dom.js";
import { pageHeading } from "../parts.js";

/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("../main.js").Page} Page */

/**
 * @param {Context} context
 * @returns {Promise<Page>}
 */
export async function environmentPage(context) {
  const { environment } = await context.api.get("/auth/whoami");
  const title = "Environment";
  return { title, nodes: [pageHeading(title), element("p", {}, environment)] };
}
"""
VIEW_PROGRAM = """
class Node {}
globalThis.Node = Node;
globalThis.Text = class extends Node { constructor(text) { super(); this.text = text; } };
globalThis.document = { createElement: (tag) => Object.assign(new Node(), {
  tag, children: [], setAttribute() {}, append(...nodes) { this.children.push(...nodes); },
}) };
const textOf = (node) => node.text ?? node.children.map(textOf).join("");
const { findRoute, mainViews } = await import(process.argv[2]);
const api = { get: async (path) => ({ environment: `answer to ${path}` }) };
const { title, nodes } = await findRoute("#/environment").view({ api });
console.log(JSON.stringify({ title, text: nodes.map(textOf), views: mainViews() }));
"""


def test_a_view_is_added_as_the_page_says(copy: ProjectCopy, tmp_path: Path) -> None:
    routes = f"{STATIC}/routes.js"
    copy.write(f"{STATIC}/views/environment.js", VIEW)
    copy.insert(
        routes,
        'import { messagePage } from "./views/message.js";\n',
        'import { environmentPage } from "./views/environment.js";\n',
    )
    copy.insert(
        routes,
        '  { pattern: "app/:app", view',
        '  { pattern: "environment", view: environmentPage, link: "Environment" },\n',
    )
    copy.insert(
        "docs/howto/use-the-dashboard.md",
        "Pages refresh every five seconds",
        "**Environment** shows which environment the key belongs to.\n\n",
    )
    check_files(copy, "a view of the dashboard")
    assert shown(copy.root / routes, tmp_path) == {
        "title": "Environment",
        "text": ["Environment", "answer to /auth/whoami"],
        "views": [
            {"view": "/", "text": "Overview"},
            {"view": "/undelivered", "text": "Undelivered"},
            {"view": "/audit", "text": "Audit trail"},
            {"view": "/environment", "text": "Environment"},
        ],
    }
    (ROOT / "build/npm").mkdir(parents=True, exist_ok=True)
    (copy.root / "build").mkdir()
    (copy.root / "build/npm").symlink_to(ROOT / "build/npm")
    copy.check(
        "tests/service/web/test_lint.py",
        "tests/service/web/test_pages.py",
        "tests/guards/test_docs_service.py::test_every_view_of_the_bar_is_told",
    )


def shown(routes: Path, folder: Path) -> Mapping[str, object]:
    """Return what the new view shows, and what the bar links to."""
    script = folder / "script.mjs"
    script.write_text(VIEW_PROGRAM)
    code, output = node.run("node", [str(script), routes.as_uri()], folder)
    assert code == 0, output
    found: Mapping[str, object] = json.loads(output)
    return found
