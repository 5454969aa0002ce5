"""A claim: a request that is carried out once, however often it is sent."""

from enum import Enum, auto

from msgspec import Struct


class Claim(Struct, frozen=True, kw_only=True):
    """A request under an idempotency key: one caller carries it out, the others wait.

    `at` is when it first came. A caller that carries it out again after a crash derives the same
    ids from `at` and the key, so that nothing is created twice. `holder` carries it out, until
    `until`. Once `status` is set there is an answer, which all callers get.
    """

    environment: str
    key: str
    fingerprint: bytes
    at: float
    holder: str
    until: float
    status: int | None = None
    body: bytes = b""

    def passes_to(self, other: "Claim", now: float) -> bool:
        """Return whether another caller may carry it out from `now` on: the holder's time is up.

        A different request under the same key may not, because the first request may yet be
        sent again.
        """
        lapsed = self.status is None and self.until <= now
        return lapsed and self.fingerprint == other.fingerprint


class ClaimEnd(Enum):
    """How the holder of a claim ends it."""

    ANSWERED = auto()
    """The answer (`status`, `body`) is saved."""
    RELEASED = auto()
    """The claim is deleted, so that the next caller may try."""
    LAPSED = auto()
    """Its time ends at once. Only the same request can take it over, with its first `at`, because
    the request may have been carried out already."""
