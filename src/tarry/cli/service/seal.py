"""`tarry seal`: manage the keys that encrypt endpoints' secrets in the database."""

import json
import time

import click

from tarry.cli.extras import needed_for
from tarry.cli.output.tables import json_option
from tarry.cli.service.options import (
    DATABASE_CODES,
    WrongSettings,
    config_option,
    db_option,
    serving,
)
from tarry.errors import SettingsError


@click.group
def seal() -> None:
    """Create and rotate the keys that seal secrets."""


@seal.command(epilog="Exit codes: 0, success; 2, the name is not usable.")
@click.option(
    "--name", default="", metavar="TEXT", help="The key's name; the date if none is given."
)
@json_option
def new(*, name: str, as_json: bool) -> None:
    """Print a new sealing key.

    Put it first in the list of keys of every process. Then run `tarry seal rotate`.
    """
    with needed_for("the webhook service"):
        from tarry.service.wire.seal import Seals, generate_key  # noqa: PLC0415  it needs the extra

    key = generate_key(name or time.strftime("key-%Y%m%d%H%M%S", time.gmtime()))
    try:
        Seals.of(key)
    except SettingsError:
        wanted = "1 to 64 letters, digits, '.', '_' or '-'"
        raise WrongSettings(f"'name' is {name!r}; it must be {wanted}") from None
    click.echo(json.dumps({"key": key}) if as_json else key)


@seal.command(epilog=DATABASE_CODES)
@config_option
@db_option(required=True)
@json_option
@serving
async def rotate(*, db: str, as_json: bool) -> None:
    """Seal all secrets with the newest key.

    Afterwards you can delete the older keys.
    """
    from tarry.service import open_hooks  # noqa: PLC0415  it needs the extra

    async with open_hooks(db, migrate=False) as hooks:
        count = await hooks.reseal()
    click.echo(json.dumps({"endpoints": count}) if as_json else f"sealed again: {count} endpoints")
