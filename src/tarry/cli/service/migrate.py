"""`tarry migrate`: update a database's schema, or show what an update would do."""

import json
from typing import TYPE_CHECKING

import click

from tarry.cli.output.tables import json_option
from tarry.cli.service.options import DATABASE_CODES, config_option, db_option, serving

if TYPE_CHECKING:
    from tarry.service.store.migrate import Status


@click.group
def migrate() -> None:
    """Update a database's schema."""


@migrate.command(epilog=DATABASE_CODES)
@config_option
@db_option(required=True)
@json_option
@serving
async def up(*, db: str, as_json: bool) -> None:
    """Apply all pending migrations."""
    from tarry.service.build import migrator  # noqa: PLC0415  it needs the extra

    async with migrator(db) as opened:
        before = await opened.up()
    if as_json:
        click.echo(_as_json(before))
    elif before.pending:
        click.echo(f"schema {before.found} is now {before.wanted}")
    else:
        click.echo(f"schema {before.found} is up to date")


@migrate.command(epilog=DATABASE_CODES)
@config_option
@db_option(required=True)
@json_option
@serving
async def status(*, db: str, as_json: bool) -> None:
    """Show the schema's version and the pending migrations."""
    from tarry.service.build import migrator  # noqa: PLC0415  it needs the extra

    async with migrator(db) as opened:
        schema = await opened.status()
    if as_json:
        click.echo(_as_json(schema))
        return
    click.echo(f"schema {schema.found}; this tarry works with {schema.wanted}")
    for step in schema.pending:
        click.echo(f"pending: {step.number:04d} {step.name.replace('_', ' ')}")


def _as_json(schema: "Status") -> str:
    """Return a schema's status as JSON: its version, the wanted version, and the pending steps."""
    steps = [{"number": step.number, "name": step.name} for step in schema.pending]
    return json.dumps({"found": schema.found, "wanted": schema.wanted, "pending": steps})


@migrate.command(epilog=DATABASE_CODES)
@config_option
@db_option(required=True)
@serving
async def sql(*, db: str) -> None:
    """Print the SQL that `up` would run."""
    from tarry.service.build import migrator  # noqa: PLC0415  it needs the extra
    from tarry.service.store.migrate import script  # noqa: PLC0415  likewise

    async with migrator(db) as opened:
        schema = await opened.status()
    click.echo(script(schema.pending), nl=False)
