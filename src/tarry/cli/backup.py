"""`tarry backup`: a consistent copy of an SQLite database, while others work on it."""

from pathlib import Path

import click

from tarry.cli.service_options import config_option, db_option, serving


@click.command
@config_option
@db_option
@click.argument("target", type=click.Path(path_type=Path))
@serving
async def backup(*, db: str, target: Path) -> None:
    """Write a consistent copy of a database to the file TARGET.

    The file with the sealing keys is not in it: keep that apart.
    """
    from tarry.service.build import open_store  # noqa: PLC0415  it needs the extra

    store = await open_store(db, migrate=False)
    try:
        await store.backup(target)
    finally:
        await store.close()
    click.echo(f"wrote {target}")
