"""`tarry backup`: copy an SQLite database consistently while other processes use it."""

import json
from pathlib import Path

import click

from tarry.cli.output.tables import json_option
from tarry.cli.service.options import DATABASE_CODES, config_option, db_option, serving
from tarry.errors import SettingsError


@click.command(epilog=DATABASE_CODES)
@config_option
@db_option(required=True)
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace TARGET if it is there already.")
@json_option
@serving
async def backup(*, db: str, target: Path, force: bool, as_json: bool) -> None:
    """Write a consistent copy of a database to the file TARGET.

    The copy does not include the file with the sealing keys: back that up separately.
    """
    from tarry.service.build import open_store  # noqa: PLC0415  it needs the extra

    if target.is_file() and not force:  # noqa: ASYNC240  the event loop runs nothing else
        raise SettingsError("target", str(target), "a new file, or come with --force")
    if target.is_dir() or not target.parent.is_dir():  # noqa: ASYNC240  likewise
        raise SettingsError("target", str(target), "a file in a folder that is there")
    store = await open_store(db, migrate=False)
    try:
        await store.backup(target)
    finally:
        await store.close()
    click.echo(json.dumps({"target": str(target)}) if as_json else f"wrote {target}")
