"""Collect what the doctor sees of endpoints, in a database or through a server."""

from tarry.cli.doctor.finding import Finding, advice, ok, wrong
from tarry.core.duration import spoken

NAMED = 3
"""How many of the endpoints with a problem are named."""
_MATTERS = {
    "down": "down (tarry endpoint lane APP ENDPOINT)",
    "parked": "disabled by tarry after days of failure (tarry endpoint resume APP ENDPOINT)",
    "paused": "paused (tarry endpoint resume APP ENDPOINT)",
}


class EndpointFacts:
    """Facts about endpoints, up to `most` of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.counted, self.waiting = 0, 0
        self._oldest_at: float | None = None
        self._success_at: float | None = None
        self._overdue: dict[str, None] = {}
        self._matters: dict[str, list[str]] = {matter: [] for matter in _MATTERS}

    @property
    def is_full(self) -> bool:
        """Whether the limit of endpoints has been reached."""
        return self.counted >= self._most

    def add(self, endpoint: str, *, standing: str, down: bool, waiting: int) -> None:
        """Count an endpoint, which findings will call by this name."""
        self.counted += 1
        self.waiting += waiting
        matter = "down" if down and standing not in _MATTERS else standing
        if matter in self._matters:
            self._matters[matter].append(endpoint)

    def waits_since(self, at: float) -> None:
        """Record since when a delivery waits."""
        self._oldest_at = at if self._oldest_at is None else min(self._oldest_at, at)

    def overdue(self, endpoint: str) -> None:
        """Record an endpoint with overdue deliveries."""
        self._overdue[endpoint] = None

    def succeeded(self, at: float | None) -> None:
        """Record the time of a success; None if there was none."""
        if at is not None:
            self._success_at = at if self._success_at is None else max(self._success_at, at)

    def findings(self, now: float) -> list[Finding]:
        """Return the findings."""
        summary = f"deliveries waiting: {self.waiting}"
        if self._oldest_at is not None and self._oldest_at < now:
            summary += f", the oldest for {spoken(now - self._oldest_at)}"
        first = f" (only the first {self._most} were checked)" if self.is_full else ""
        findings = [ok("backlog", f"{summary}; endpoints: {self.counted}{first}")]
        findings += [self._overdue_finding(), *(self._finding(matter) for matter in _MATTERS)]
        if self._success_at is not None:
            since = spoken(max(0.0, now - self._success_at))
            findings.append(ok("success", f"last success {since} ago"))
        elif self.counted:
            findings.append(advice("success", "no success so far"))
        return findings

    def _overdue_finding(self) -> Finding:
        """Report the endpoints with deliveries that should have been sent."""
        if not self._overdue:
            return ok("overdue", "none")
        return wrong(
            "overdue",
            f"endpoints with deliveries that should have been sent: {len(self._overdue)},"
            f" {_names(list(self._overdue))}. Check that a worker is running. If one is, restart it"
            " and report a bug in tarry",
        )

    def _finding(self, matter: str) -> Finding:
        """Return a finding that lists the endpoints noted under `matter`, a key of `_MATTERS`."""
        endpoints = self._matters[matter]
        if not endpoints:
            return ok(matter, "none")
        return advice(matter, f"{len(endpoints)} {_MATTERS[matter]}: {_names(endpoints)}")


def _names(endpoints: list[str]) -> str:
    """Return the first few names, and dots if there are more."""
    return ", ".join(endpoints[:NAMED]) + (", ..." if len(endpoints) > NAMED else "")
