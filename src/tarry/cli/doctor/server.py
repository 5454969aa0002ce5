"""The doctor's checks of a server: whether it answers, accepts messages, and accepts the key."""

from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from time import time

from tarry.cli.client.client import POLICY, Answer, NoServer, Server, ServerRefused
from tarry.cli.client.error_text import refusal_text
from tarry.cli.doctor.endpoint_facts import EndpointFacts
from tarry.cli.doctor.finding import Finding, advice, ok, wrong
from tarry.cli.output.tables import known_as
from tarry.cli.service.options import WrongSettings

SINGLE_ATTEMPT = POLICY.replace(attempts=1, attempt_timeout=10)
UNHELD = frozenset({"not tried yet", "replayed"})
"""Reasons of deliveries that nothing holds back. This repeats what the service knows: a command
that only calls a server does not need the service's packages."""
SKEW = 2.0
"""How many seconds clocks may differ: a server reports whole seconds."""
READY, UNREADY = 200, 503
ACCEPTED_FIELD = "accepted"
FIRST = 100
"""How many deliveries are searched for the oldest: some are scheduled for later."""
MOST_ENDPOINTS = 200
"""The doctor looks at no more endpoints than this, since each takes several requests."""


def serving(url: str, key: str | None, *, backlog: bool = True) -> Iterator[Finding]:
    """Yield one finding after the other; stop if the server does not answer.

    With `backlog=False` the backlog is left out, because it was checked in the database already.
    """
    try:
        server = Server(url, key, SINGLE_ATTEMPT)
        asked_at = time()
        answer = server.send("GET", "/readyz")
        answered_at = time()
    except (NoServer, WrongSettings) as error:
        yield wrong("server", error.message)
        return
    if answer.status not in {READY, UNREADY} or not _is_json(answer):
        problem = f"{server.url} answered {answer.status}, but not like tarry: check the URL"
        yield wrong("server", problem)
        return
    yield ok("server", f"{server.url} answers")
    if answer.status == READY:
        yield ok("ready", "accepts messages")
    else:
        problem = refusal_text(answer.status, answer.body, ())
        yield wrong("ready", f"does not accept messages: {problem}")
    if date := answer.headers.get("date"):
        server_time = parsedate_to_datetime(date).timestamp()
        difference = max(
            asked_at - server_time, server_time - answered_at
        )  # not counting a slow answer
        if difference > SKEW:
            yield wrong("server clock", f"{difference:.0f} s from this machine's clock")
        else:
            yield ok("server clock", f"less than {SKEW:g} s from this machine's clock")
    yield (accepted := _key_finding(server, key))
    if backlog and accepted.words == ACCEPTED_FIELD:
        yield from _backlog_findings(server)


def _is_json(answer: Answer) -> bool:
    """Return whether a response is a JSON object."""
    try:
        return isinstance(answer.read(), dict)
    except ValueError:
        return False


def _key_finding(server: Server, key: str | None) -> Finding:
    """Report whether the server accepts the key."""
    if key is None:
        return advice("key", "not checked: give --key-file or --key, or set TARRY_KEY")
    try:
        server.request("GET", "app", query={"limit": 1})
    except ServerRefused as error:
        if error.message.startswith("403"):
            return ok("key", "accepted, but it may not read applications")
        unknown = ", or it was revoked or has expired: tarry key create makes a new one"
        return wrong("key", error.message + (unknown if error.message.startswith("401") else ""))
    except NoServer as error:
        return wrong("key", error.message)
    return ok("key", ACCEPTED_FIELD)


def _backlog_findings(server: Server) -> list[Finding]:
    """Report the backlog and the failures of the server's endpoints."""
    facts = EndpointFacts(MOST_ENDPOINTS)
    try:
        for app, endpoint in islice(_endpoint_names(server), MOST_ENDPOINTS):
            _count(server, app, endpoint, facts)
    except (NoServer, ServerRefused) as error:
        return [wrong("backlog", error.message)]
    return facts.findings(time())


def _endpoint_names(server: Server) -> Iterator[tuple[str, str]]:
    """Yield the names of all endpoints, each after its application's name."""
    for app in server.items("app", most=None):
        for endpoint in server.items("app", app["id"], "endpoint", most=None):
            yield known_as(app), known_as(endpoint)


def _count(server: Server, app: str, endpoint: str, facts: EndpointFacts) -> None:
    """Add an endpoint's state, its backlog and its last success to the facts."""
    lane = server.request("GET", "app", app, "endpoint", endpoint, "lane").read()
    down, waiting = lane["phase"] == "open", lane["backlog"]
    facts.add(f"{app} {endpoint}", standing=lane["standing"], down=down, waiting=waiting)
    succeeded = {"status": 0, "with_content": False}
    for attempt in server.items("app", app, "attempt", "endpoint", endpoint, most=1, **succeeded):
        facts.succeeded(_unix_time(attempt["timestamp"]))
    for state in ("ready", "waiting") if waiting else ():
        which = {"endpoint_id": endpoint, "state": state}
        deliveries = list(server.items("app", app, "undelivered", most=FIRST, **which))
        for delivery in deliveries:
            facts.waits_since(_unix_time(delivery["acceptedAt"]))
        oldest = next(
            (delivery["msgId"] for delivery in deliveries if delivery["reason"] in UNHELD), None
        )
        if oldest is not None and _is_overdue(server, app, endpoint, oldest):
            facts.overdue(f"{app} {endpoint}")


def _is_overdue(server: Server, app: str, endpoint: str, message: str) -> bool:
    """Return whether a delivery should have been sent; it may have been delivered since."""
    path = ("app", app, "msg", message, "endpoint", endpoint, "explain")
    overdue: bool = server.request("GET", *path).read()["overdue"]
    return overdue


def _unix_time(written: str) -> float:
    """Return a time from a response as seconds since 1970."""
    return datetime.fromisoformat(written).timestamp()
