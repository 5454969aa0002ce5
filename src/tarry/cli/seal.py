"""`tarry seal`: the keys that endpoints' secrets are sealed with."""

import time

import click

from tarry.cli.extras import needed_for
from tarry.cli.service_options import WrongSettings, config_option, db_option, serving
from tarry.errors import SettingsError


@click.group
def seal() -> None:
    """Make and change the keys that secrets are sealed with."""


@seal.command
@click.option("--name", default="", help="The key's name; the date if none is given.")
def new(*, name: str) -> None:
    """Print a new sealing key.

    Put it first in the list of keys, of every process; then run `tarry seal rotate`.
    """
    with needed_for("the webhook service"):
        from tarry.service.wire.seal import Seals, generate_key  # noqa: PLC0415  it needs the extra

    key = generate_key(name or time.strftime("key-%Y%m%d%H%M%S", time.gmtime()))
    try:
        Seals.of(key)
    except SettingsError:
        wanted = "1 to 64 letters, digits, '.', '_' or '-'"
        raise WrongSettings(f"'name' is {name!r}; it must be {wanted}") from None
    click.echo(key)


@seal.command
@config_option
@db_option(required=True)
@serving
async def rotate(*, db: str) -> None:
    """Seal all secrets with the newest key; afterwards older keys can be thrown away."""
    from tarry.service.hooks import open_hooks  # noqa: PLC0415  it needs the extra

    async with open_hooks(db, migrate=False) as hooks:
        count = await hooks.reseal()
    click.echo(f"sealed again: {count} endpoints")
