import re
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest

import tarry.service.store.postgres
from tarry.service.store.postgres.queries import SQL

pytestmark = pytest.mark.anyio

SOURCE = Path(next(iter(tarry.service.store.postgres.__path__)))


async def test_the_database_understands_every_query(tarry_url: str) -> None:
    connection = await asyncpg.connect(tarry_url)
    for name, sql in SQL.items():
        assert await connection.prepare(sql), name
    await connection.close()


def test_every_query_is_used() -> None:
    source = "".join(file.read_text() for file in SOURCE.glob("*.py"))
    assert not [name for name in SQL if f'"{name}"' not in source]


def test_every_table_is_named_with_its_schema() -> None:
    tables = r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING)\s+(?!ONLY|SET|SKIP|OF)(tarry\.)?(\w+)"
    ours = re.compile(r"CREATE TABLE tarry\.(\w+)").findall(
        (SOURCE / "migrations" / "0001_begin.sql").read_text()
    )
    for name, sql in SQL.items():
        for schema, table in re.findall(tables, sql):
            assert schema or table not in ours or table in _named_in(sql), (name, table)


def _named_in(sql: str) -> list[str]:
    """Names that a query gives to its own parts."""
    return re.findall(r"(\w+) AS (?:MATERIALIZED )?\(", sql)
