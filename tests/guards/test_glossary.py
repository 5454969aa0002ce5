"""Each word that people meet is in the glossary, or is an everyday one, and has one meaning.

Checked are the words in the names of modules, classes, tables, columns, fields of the HTTP API,
metrics, commands and options. `everyday_words.txt` lists those that an engineer knows without a
definition.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tarry.cli.commands import tarry
from tarry.service.api.open import written
from tarry.service.store.migrate import steps
from tests.measure import names
from tests.measure.structure import modules
from tests.project_files import ROOT, project_files

EVERYDAY = Path(__file__).with_name("everyday_words.txt")
DIALECTS = ("tarry.service.store.postgres.migrate", "tarry.service.store.sqlite.migrate")
METRIC = re.compile(r"\btarry_[a-z_]+(?=[ `{])")


def rows() -> list[list[str]]:
    """Return the cells of the tables in the glossary, without their headings."""
    page = (ROOT / "docs/glossary.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| **")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def defined() -> set[str]:
    """Return the words that the glossary explains: the bold and the slanted ones."""
    marked = [term for row in rows() for cell in row for term in re.findall(r"\*+([^*]+)\*+", cell)]
    return {names.singular(word) for term in marked for word in names.words(term)}


def everyday() -> list[str]:
    """Return the words that need no definition."""
    return EVERYDAY.read_text().split()


def names_that_people_meet() -> Iterator[tuple[str, str]]:
    """Yield every name that is checked, and what it names."""
    trees = modules(ROOT / "src", project_files("src"))
    kinds = {
        "a module": names.module_names(ROOT / "src/tarry"),
        "a class": names.class_names(trees),
        "a table or column": {
            name
            for dialect in DIALECTS
            for step in steps(dialect)
            for name in names.sql_names(step.sql)
        },
        "a field of the API": names.json_names(written()),
        "a metric": {
            metric
            for page in ("events.md", "service-http.md")
            for metric in METRIC.findall((ROOT / "docs/reference" / page).read_text())
        },
        "a command or option": set(names.command_names(tarry)),
    }
    for kind, found in kinds.items():
        assert found, kind
        for name in sorted(found):
            yield name, kind


def test_every_word_of_a_name_is_defined_or_an_everyday_one() -> None:
    known = {*defined(), *map(names.singular, everyday())}
    unknown = [
        f"{word}, in {name}, {kind}"
        for name, kind in names_that_people_meet()
        for word in names.words(name)
        if names.singular(word) not in known
    ]
    advice = f"define it in docs/glossary.md, or list it in {EVERYDAY.name} if engineers know it:"
    assert not unknown, "\n".join([advice, *unknown])


def test_the_glossary_gives_each_word_one_entry() -> None:
    terms = Counter(
        term
        for word, *rest in rows()
        if len(rest) == 1
        for term in re.findall(r"\*\*([^*]+)\*\*", word)
    )
    assert [term for term, count in terms.items() if count > 1] == []


def test_the_four_words_for_where_something_stands_are_told_apart() -> None:
    told = {row[0].strip("*") for row in rows() if len(row) > 2}
    assert told == {"state", "standing", "phase", "status"}


def test_the_everyday_words_are_sorted_used_and_not_defined() -> None:
    listed = everyday()
    used = {
        names.singular(word) for name, _ in names_that_people_meet() for word in names.words(name)
    }
    assert listed == sorted(set(listed))
    assert [word for word in listed if names.singular(word) not in used] == []
    assert [word for word in listed if names.singular(word) in defined()] == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("lane_state", ["lane", "state"]),
        ("OwnedShard", ["owned", "shard"]),
        ("HTTPServer", ["http", "server"]),
        ("nextAttempt", ["next", "attempt"]),
        ("--allow-network", ["allow", "network"]),
        ("httpx2", ["httpx"]),
    ],
)
def test_a_name_is_split_into_its_words(name: str, found: list[str]) -> None:
    assert names.words(name) == found


@pytest.mark.parametrize(
    ("word", "found"),
    [("leases", "lease"), ("tries", "try"), ("address", "address"), ("state", "state")],
)
def test_a_plural_is_the_same_word(word: str, found: str) -> None:
    assert names.singular(word) == names.singular(found)


def test_the_guard_sees_all_kinds_of_names() -> None:
    sql = "CREATE TABLE tarry.muster (\n    clerk text,\n    PRIMARY KEY (clerk)\n);\n"
    added = "ALTER TABLE muster ADD COLUMN bearings text;"
    assert names.sql_names(sql + added) == {"muster", "clerk", "bearings"}
    tree = ast.parse("class Desk:\n    class _Bell: ...")
    assert names.class_names({"a": tree}) == {"Desk", "_Bell"}
    schema: object = {"schemas": [{"properties": {"outfit": {"properties": {"doubts": {}}}}}]}
    assert names.json_names(schema) == {"outfit", "doubts"}
