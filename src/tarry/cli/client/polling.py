"""Wait for work that a server does in the background: delivering a message, or a task."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from tarry.call.api import retry
from tarry.cli.client.client import NoServer, ServerRefused
from tarry.cli.client.names import Vocabulary
from tarry.cli.client.remote import Remote
from tarry.cli.exit_codes import FAILED, INTERRUPTED, TOO_LATE
from tarry.cli.input.times import describe_due, with_local_times
from tarry.cli.output.safe_text import plain
from tarry.cli.output.tables import known_as
from tarry.core.backoff import Exponential
from tarry.core.duration import spoken
from tarry.core.policy import Policy
from tarry.errors import GaveUp

WAITING_STATUSES = frozenset({"pending", "sending"})
DELIVERED = "delivered"
FRESH = "not tried yet"
"""The API's reason of a delivery that was accepted just now."""
NO_ENDPOINT = "No endpoint accepts this message."
MOST_POLLED_ENDPOINTS = 20
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
def interruptible(text: str) -> Iterator[None]:
    """Print `text`, which says how to see the result later, if waiting is interrupted."""
    try:
        yield
    except (NoServer, ServerRefused):
        click.echo(text, err=True)
        raise
    except KeyboardInterrupt:
        click.echo(f"\n{text}", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


def follow_message(remote: Remote, app: str, message: str, timeout: float) -> None:
    """Wait until a message has reached its endpoints, and report its progress on stderr.

    Exit with an error code unless all endpoints have received it.
    """
    progress = MessageProgress(remote, app, message)
    hint = f"`tarry message get {app} {message}` shows its state."
    with interruptible(f"Stopped waiting. The server continues to deliver {message}. {hint}"):
        endpoints = poll(
            progress.look, lambda endpoints: not any(map(_is_waiting, endpoints)), timeout
        )
    if endpoints is None:
        progress.report_waiting(timeout)
        click.echo(hint, err=True)
        raise click.exceptions.Exit(TOO_LATE)
    if not endpoints:
        click.echo(NO_ENDPOINT, err=True)
    if not all(endpoint["statusText"] == "success" for endpoint in endpoints):
        raise click.exceptions.Exit(FAILED)


class MessageProgress:
    """The deliveries of a message, and the last printed state of each."""

    def __init__(self, remote: Remote, app: str, message: str) -> None:
        self._remote, self._path = remote, ("app", app, "msg", message, "endpoint")
        self._vocabulary = Vocabulary(remote.server)
        self._endpoints: list[Mapping[str, Any]] = []
        self._statuses: dict[str, tuple[object, ...]] = {}
        self._printed: dict[str, str] = {}
        self._fresh: set[str] = set()

    def look(self) -> list[Mapping[str, Any]]:
        """Return the message's status at every endpoint, and print what is new."""
        endpoints = self._remote.server.items(*self._path, most=None, expanded_statuses=True)
        self._endpoints = list(endpoints)
        for endpoint in self._endpoints:
            status = (endpoint["statusText"], endpoint["nextAttempt"])
            if (
                len(self._endpoints) <= MOST_POLLED_ENDPOINTS
                or self._statuses.get(endpoint["id"]) != status
            ):
                self._statuses[endpoint["id"]] = status
                self._print(endpoint)
        return self._endpoints

    def _print(self, endpoint: Mapping[str, Any]) -> None:
        """Print the state at an endpoint, unless it was printed before."""
        endpoint_id, (reason, text, _) = endpoint["id"], self._state(endpoint)
        if reason == FRESH and endpoint_id not in self._fresh:
            self._fresh.add(endpoint_id)  # wait for the next look: there will be more to report
        elif self._printed.get(endpoint_id) != reason:
            self._printed[endpoint_id] = reason
            delivered = sum(printed == DELIVERED for printed in self._printed.values())
            total = len(self._endpoints)
            count = f" ({delivered} of {total})" if total > 1 and reason == DELIVERED else ""
            click.echo(f"{_name_and_url(endpoint)}: {text}{count}", err=True)

    def report_waiting(self, timeout: float) -> None:
        """Print why the remaining deliveries wait, after the timeout."""
        delivered = sum(endpoint["statusText"] == "success" for endpoint in self._endpoints)
        count = f"delivered to {delivered} of {len(self._endpoints)} endpoints"
        click.echo(f"After {spoken(timeout)}: {count}. Still waiting:", err=True)
        for endpoint in filter(_is_waiting, self._endpoints):
            _, _, short = self._state(endpoint)
            click.echo(f"  {_name_and_url(endpoint)}: {short}", err=True)

    def _state(self, endpoint: Mapping[str, Any]) -> tuple[str, str, str]:
        """Return the state at an endpoint: the reason, sentences, and a short form."""
        if endpoint["statusText"] == "success":
            return DELIVERED, DELIVERED, DELIVERED
        explanation = self._remote.get(*self._path, endpoint["id"], "explain").read()
        reason = explanation["reason"]
        if reason == DELIVERED:  # delivered since the list was read
            return DELIVERED, DELIVERED, DELIVERED
        why, *attempts = explanation["sentences"]
        text = plain(" ".join(map(with_local_times, [why, *attempts[-1:]])))
        next_at = explanation["nextAt"]
        next_attempt = f", next attempt {describe_due(next_at)}" if next_at else ""
        return reason, text, f"{self._vocabulary.label('reasons', reason)}{next_attempt}"


def _is_waiting(endpoint: Mapping[str, object]) -> bool:
    """Return whether a delivery to this endpoint is still to be made."""
    return endpoint["statusText"] in WAITING_STATUSES


def _name_and_url(endpoint: Mapping[str, object]) -> str:
    """Return what to call an endpoint."""
    return plain(f"{known_as(endpoint)} ({endpoint['url']})")
