"""`tarry schema`: print the JSON Schema of policy files."""

import click

from tarry.core.schema import schema_text


@click.command(epilog="Exit codes: 0, success.")
def schema() -> None:
    """Print the JSON Schema of policy files."""
    click.echo(schema_text(), nl=False)
