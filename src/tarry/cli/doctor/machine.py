"""The doctor's checks of this machine: Python, packages, host names, environment variables."""

import platform
import socket
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from tarry.cli.doctor.finding import Finding, advice, ok, wrong
from tarry.cli.extras import PACKAGES
from tarry.core.nearest import nearest

PREFIX = "TARRY_"
EXTRAS = "extras"
OTHERS = ("TARRY_SEALING_KEYS", "TARRY_FAILPOINT", "TARRY_TEST_POSTGRES", "TARRY_TEST_POSTGRES_URL")
"""Environment variables that belong to no command's option."""
SAMPLE_HOST = "example.com"
LOOKUP_SECONDS = 5.0
"""How many seconds a name look-up may take."""


def check_python_and_extras(
    db: str | None, find_module: Callable[[str], object] = find_spec
) -> Iterator[Finding]:
    """Check Python, and which extras are installed."""
    yield ok("python", f"{platform.python_implementation()} {platform.python_version()}")
    missing = sorted({extra for package, extra in PACKAGES.items() if not find_module(package)})
    installed = sorted(set(PACKAGES.values()) - set(missing))
    needed = {"service"} | ({"postgres"} if db and db.startswith("postgres") else set())
    if lacking := sorted(needed.intersection(missing)):
        yield wrong(EXTRAS, f"missing for the service: pip install 'tarry[{','.join(lacking)}]'")
    elif missing:
        yield ok(EXTRAS, f"installed: {', '.join(installed)}; not installed: {', '.join(missing)}")
    else:
        yield ok(EXTRAS, "all are installed")


def variables(names: Iterable[str], settings: Iterable[str]) -> Finding:
    """Check that every environment variable with tarry's prefix is a known one."""
    set_names, known_names = sorted(n for n in names if n.startswith(PREFIX)), {*settings, *OTHERS}
    for name in set_names:
        if name not in known_names:
            close = nearest(name, map(str.lower, sorted(known_names)))
            hint = f"; did you mean {close.upper()}?" if close else ""
            return advice("variables", f"{name} is not a setting{hint}")
    return ok("variables", ", ".join(set_names) or "none are set")


def names(
    host: str = SAMPLE_HOST,
    patience: float = LOOKUP_SECONDS,
    look_up: Callable[..., object] = socket.getaddrinfo,
) -> Finding:
    """Check that host names can be looked up."""
    answers: SimpleQueue[Finding] = SimpleQueue()
    # A daemon thread, since a look-up cannot be cancelled.
    Thread(target=lambda: answers.put(_dns_finding(host, look_up)), daemon=True).start()
    try:
        return answers.get(timeout=patience)
    except Empty:
        return wrong(
            "dns", f"{host} was not resolved within {patience:g} s: check the DNS resolver"
        )


def _dns_finding(host: str, look_up: Callable[..., Any]) -> Finding:
    """Report whether the machine can resolve a public name."""
    try:
        addresses = look_up(host, 443, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno == socket.EAI_NONAME:
            problem = f"{host} is unknown to the DNS resolver: public endpoints may be unreachable"
            return advice("dns", problem)
        return wrong("dns", f"{host} cannot be resolved: {error.strerror}")
    return ok("dns", f"{host} resolves to {addresses[0][4][0]}")
