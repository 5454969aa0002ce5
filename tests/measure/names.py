"""Collect the names that readers of the code and users meet, and the words in them."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_TABLE = re.compile(
    r"^CREATE TABLE (?:tarry\.)?(?P<name>\w+)[^(;]*\((?P<columns>.*?)^\)", re.MULTILINE | re.DOTALL
)
_COLUMN = re.compile(r"^ {4}(?P<name>[a-z_]+) +[a-z]", re.MULTILINE | re.IGNORECASE)
_ADDED = re.compile(r"\bADD COLUMN (?P<name>\w+)")
_CONSTRAINTS = {"check", "constraint", "exclude", "foreign", "primary", "unique"}
_ENDINGS = {"ies": "y", "sses": "ss", "es": "e", "s": ""}


def words(name: str) -> list[str]:
    """Return the words of a name in any spelling: `some_name`, `SomeName`, `someName`, `--some`."""
    return [word.lower() for word in _WORD.findall(name) if len(word) > 1]


def singular(word: str) -> str:
    """Return a noun without its plural ending, or a verb without its `s`."""
    for ending, instead in _ENDINGS.items():
        if word.endswith(ending) and not word.endswith("ss"):
            return word.removesuffix(ending) + instead
    return word


def module_names(package: Path) -> set[str]:
    """Return the names of all folders and modules below a package, those of JavaScript too."""
    paths = [path for path in package.rglob("*") if path.suffix in {".py", ".js"}]
    stems = {path.stem for path in paths}
    folders = {part for path in paths for part in path.relative_to(package).parts[:-1]}
    return (stems | folders) - {"__init__", "__main__", "__pycache__"}


def class_names(trees: Mapping[str, ast.Module]) -> set[str]:
    """Return the names of all classes, also of private ones."""
    return {
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def sql_names(sql: str) -> set[str]:
    """Return the names of the tables and columns that statements create."""
    names = {match["name"] for match in _ADDED.finditer(sql)}
    for table in _TABLE.finditer(sql):
        columns = {match["name"] for match in _COLUMN.finditer(table["columns"])}
        names |= {table["name"], *columns} - _CONSTRAINTS
    return {name for name in names if name.lower() not in _CONSTRAINTS}


def json_names(document: object) -> set[str]:
    """Return the names of all fields in the schemas of an OpenAPI document."""
    if isinstance(document, list):
        return {name for part in document for name in json_names(part)}
    if not isinstance(document, dict):
        return set()
    names = {name for part in document.values() for name in json_names(part)}
    properties = document.get("properties")
    return names | set(properties) if isinstance(properties, dict) else names


def command_names(command: click.Command) -> Iterator[str]:
    """Yield the names of a command, of its options, and of all commands below it."""
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from (*parameter.opts, *parameter.secondary_opts)
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield name
            yield from command_names(below)
