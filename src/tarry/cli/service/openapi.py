"""`tarry openapi`: print the OpenAPI document of the HTTP API, without a server."""

import json

import click

from tarry.cli.extras import needed_for


@click.command(epilog="Exit codes: 0, success; 2, an extra is missing.")
def openapi() -> None:
    """Print the OpenAPI document of the HTTP API."""
    with needed_for("the webhook service"):
        from tarry.service.api.open import written  # noqa: PLC0415  it needs the extra
    click.echo(json.dumps(written(), indent=2, ensure_ascii=False))
