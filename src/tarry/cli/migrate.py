"""`tarry migrate`: bring a database's schema up to date, or say what that would do."""

import click

from tarry.cli.service_options import config_option, db_option, serving


@click.group
def migrate() -> None:
    """Bring a database's schema up to date."""


@migrate.command
@config_option
@db_option(required=True)
@serving
async def up(*, db: str) -> None:
    """Make all steps that are to be made."""
    from tarry.service.build import migrator  # noqa: PLC0415  it needs the extra

    async with migrator(db) as opened:
        before = await opened.up()
    if before.pending:
        click.echo(f"schema {before.found} is now {before.wanted}")
    else:
        click.echo(f"schema {before.found} is up to date")


@migrate.command
@config_option
@db_option(required=True)
@serving
async def status(*, db: str) -> None:
    """Say which schema is there, and which steps are to be made."""
    from tarry.service.build import migrator  # noqa: PLC0415  it needs the extra

    async with migrator(db) as opened:
        found = await opened.status()
    click.echo(f"schema {found.found}; this tarry works with {found.wanted}")
    for step in found.pending:
        click.echo(f"to be made: {step.number:04d} {step.name.replace('_', ' ')}")


@migrate.command
@config_option
@db_option(required=True)
@serving
async def sql(*, db: str) -> None:
    """Print the SQL that `up` would run."""
    from tarry.service.build import migrator  # noqa: PLC0415  it needs the extra
    from tarry.service.store.migrate import script  # noqa: PLC0415  likewise

    async with migrator(db) as opened:
        found = await opened.status()
    click.echo(script(found.pending), nl=False)
