"""Wait for what a server does in the background: a message on its way, or a task."""

from collections.abc import Callable
from typing import Any

import click

from tarry.call.api import retry
from tarry.cli.plain import plain
from tarry.cli.remote import Remote
from tarry.core.backoff import Exponential
from tarry.core.duration import spoken
from tarry.core.policy import Policy
from tarry.errors import GaveUp

WAITING = frozenset({"pending", "sending"})
DELIVERED = "delivered"
FRESH = "not tried yet"
"""Why a message waits that was accepted just now."""


def poll(look: Callable[[], Any], until: Callable[[Any], bool], timeout: float | None) -> Any:  # noqa: ANN401  what is looked at
    """Look until it is so; None if that takes too long."""
    policy = Policy(
        backoff=Exponential(base=0.05, factor=1.5, cap=2), attempts=None, within=timeout
    )
    try:
        return retry(policy, until=until, scoped=False)(look)()
    except GaveUp:
        return None


def follow(remote: Remote, app: str, message: str, timeout: float) -> bool:
    """Wait until a message has reached its endpoints, and say on stderr what becomes of it.

    Whether all have got it.
    """
    heard: dict[str, str] = {}
    fresh: set[str] = set()

    def look() -> list[Any]:
        way = ("app", app, "msg", message, "endpoint")
        found = list(remote.server.items(*way, most=None, expanded_statuses=True))
        for one in found:
            reason, words = _standing(remote, app, message, one)
            if reason == FRESH and one["id"] not in fresh:
                fresh.add(one["id"])  # in a moment there will be more to tell
            elif heard.get(one["id"]) != reason:
                heard[one["id"]] = reason
                said = plain(f"{one['uid'] or one['id']} ({one['url']}): {words}")
                click.echo(said, err=True)
        return found

    found = poll(
        look, lambda found: not any(one["statusText"] in WAITING for one in found), timeout
    )
    if found is None:
        click.echo(f"not delivered within {spoken(timeout)}; it is kept, and still waits", err=True)
        return False
    if not found:
        click.echo("there is no endpoint that wants it", err=True)
    return all(one["statusText"] == "success" for one in found)


def _standing(remote: Remote, app: str, message: str, one: Any) -> tuple[str, str]:  # noqa: ANN401  JSON
    """How a message stands with an endpoint: a word for it, and sentences."""
    if one["statusText"] == "success":
        return DELIVERED, DELIVERED
    said = remote.get("app", app, "msg", message, "endpoint", one["id"], "explain").read()
    # It may have got there in between.
    words = DELIVERED if said["reason"] == DELIVERED else " ".join(said["sentences"])
    return said["reason"], words
