"""Wait for work that a server does in the background: delivering a message, or a task."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from tarry.call.api import retry
from tarry.cli.client.client import NoServer, ServerRefused
from tarry.cli.client.remote import Remote
from tarry.cli.exit_codes import FAILED, INTERRUPTED, TOO_LATE
from tarry.cli.input.times import describe_due, with_local_times
from tarry.cli.output.safe_text import plain
from tarry.cli.output.tables import known_as
from tarry.core.backoff import Exponential
from tarry.core.duration import spoken
from tarry.core.policy import Policy
from tarry.errors import GaveUp

WAITING = frozenset({"pending", "sending"})
DELIVERED = "delivered"
FRESH = "not tried yet"
"""The reason why a message that was accepted just now is waiting."""
FEW = 20
"""With more endpoints than this, ask for details of an endpoint only if its status has changed."""


def poll(look: Callable[[], Any], until: Callable[[Any], bool], timeout: float | None) -> Any:  # noqa: ANN401  whatever `look` returns
    """Call `look` until `until` accepts its result and return that; None after `timeout`."""
    policy = Policy(
        backoff=Exponential(base=0.05, factor=1.5, cap=2), attempts=None, within=timeout
    )
    try:
        return retry(policy, until=until, scoped=False)(look)()
    except GaveUp:
        return None


@contextmanager
def interruptible(words: str) -> Iterator[None]:
    """Print `words` if waiting is interrupted; they say how to see the result later."""
    try:
        yield
    except (NoServer, ServerRefused):
        click.echo(words, err=True)
        raise
    except KeyboardInterrupt:
        click.echo(f"\n{words}", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


def follow_message(remote: Remote, app: str, message: str, timeout: float) -> None:
    """Wait until a message has reached its endpoints, and report its progress on stderr.

    Exit with an error code unless all endpoints have received it.
    """
    progress = MessageProgress(remote, app, message)
    later = f"`tarry message get {app} {message}` shows how it fares"
    with interruptible(f"no longer waiting; {message} is kept, and goes on. {later}"):
        arrived = poll(progress.look, lambda found: not any(map(_waits, found)), timeout)
    if arrived is None:
        progress.tell_what_waits(timeout)
        click.echo(later, err=True)
        raise click.exceptions.Exit(TOO_LATE)
    if not arrived:
        click.echo("there is no endpoint that wants it", err=True)
    if not all(one["statusText"] == "success" for one in arrived):
        raise click.exceptions.Exit(FAILED)


class MessageProgress:
    """A message on its way to its endpoints, and what was printed about it so far."""

    def __init__(self, remote: Remote, app: str, message: str) -> None:
        self._remote, self._way = remote, ("app", app, "msg", message, "endpoint")
        self._found: list[Mapping[str, Any]] = []
        self._stood: dict[str, tuple[object, ...]] = {}
        self._heard: dict[str, str] = {}
        self._fresh: set[str] = set()

    def look(self) -> list[Mapping[str, Any]]:
        """Ask for the message's status at every endpoint, and print what is new."""
        way = self._way
        self._found = list(self._remote.server.items(*way, most=None, expanded_statuses=True))
        for one in self._found:
            stands = (one["statusText"], one["nextAttempt"])
            if len(self._found) <= FEW or self._stood.get(one["id"]) != stands:
                self._stood[one["id"]] = stands
                self._tell(one)
        return self._found

    def _tell(self, one: Mapping[str, Any]) -> None:
        """Print the status at an endpoint, unless it was printed before."""
        known, (reason, words, _) = one["id"], self._standing(one)
        if reason == FRESH and known not in self._fresh:
            self._fresh.add(known)  # wait for the next look: there will be more to report
        elif self._heard.get(known) != reason:
            self._heard[known] = reason
            arrived = sum(heard == DELIVERED for heard in self._heard.values())
            count = f" ({arrived} of {len(self._found)})" if len(self._found) > 1 else ""
            click.echo(f"{_name(one)}: {words}{count if reason == DELIVERED else ''}", err=True)

    def tell_what_waits(self, timeout: float) -> None:
        """Print, when the time is over, why the remaining endpoints have not received it."""
        waiting = [one for one in self._found if _waits(one)]
        arrived = sum(one["statusText"] == "success" for one in self._found)
        said = f"after {spoken(timeout)} it is at {arrived} of {len(self._found)} endpoints"
        click.echo(f"{said}; it is kept, and still waits for:", err=True)
        for one in waiting:
            _, _, short = self._standing(one)
            click.echo(f"  {_name(one)}: {short}", err=True)

    def _standing(self, one: Mapping[str, Any]) -> tuple[str, str, str]:
        """Return the status at an endpoint: the reason, sentences, and a short form."""
        if one["statusText"] == "success":
            return DELIVERED, DELIVERED, DELIVERED
        said = self._remote.get(*self._way, one["id"], "explain").read()
        if said["reason"] == DELIVERED:  # delivered since the list was read
            return DELIVERED, DELIVERED, DELIVERED
        why, *attempts = said["sentences"]
        words = plain(" ".join(map(with_local_times, [why, *attempts[-1:]])))
        then = f", next attempt {describe_due(said['nextAt'])}" if said["nextAt"] else ""
        return said["reason"], words, f"{said['reason']}{then}"


def _waits(one: Mapping[str, Any]) -> bool:
    return one["statusText"] in WAITING


def _name(one: Mapping[str, Any]) -> str:
    return plain(f"{known_as(one)} ({one['url']})")
