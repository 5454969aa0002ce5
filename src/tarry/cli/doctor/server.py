"""What the doctor sees of a server: whether it answers, can take messages, and takes the key."""

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from time import time

from tarry.cli.client import POLICY, NoServer, Server, ServerRefused
from tarry.cli.doctor.finding import Finding, advice, ok, wrong
from tarry.cli.service_options import WrongSettings

ONCE = POLICY.replace(attempts=1, attempt_timeout=10)
SKEW = 2.0
"""Seconds that clocks may differ: a server tells whole ones."""
READY = 200


def serving(url: str, key: str | None) -> Iterator[Finding]:
    """One thing after the other; without an answer there is no more to look at."""
    try:
        server = Server(url, key, ONCE)
        answer = server.look("GET", "/readyz")
    except (NoServer, WrongSettings) as error:
        yield wrong("server", error.message)
        return
    yield ok("server", f"{server.url} answers")
    if answer.status == READY:
        yield ok("ready", "it can take messages")
    else:
        said = answer.body.decode(errors="replace").strip()
        yield wrong("ready", f"it cannot take messages just now: {answer.status} {said}")
    if date := answer.headers.get("date"):
        apart = abs(parsedate_to_datetime(date).timestamp() - time())
        if apart > SKEW:
            yield wrong("server clock", f"it is {apart:.0f} s from this machine's")
        else:
            yield ok("server clock", f"it is less than {SKEW:g} s from this machine's")
    yield _accepted(server, key)


def _accepted(server: Server, key: str | None) -> Finding:
    if key is None:
        return advice("key", "none was given to try: --api-key or TARRY_API_KEY")
    try:
        server.ask("GET", "app", query={"limit": 1})
    except ServerRefused as error:
        if error.message.startswith("403"):
            return ok("key", "it is accepted; it may not look at applications")
        return wrong("key", error.message)
    except NoServer as error:
        return wrong("key", error.message)
    return ok("key", "it is accepted")
