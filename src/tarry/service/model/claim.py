"""A claim: a request that is to be carried out once, however often it comes."""

from msgspec import Struct


class Claim(Struct, frozen=True, kw_only=True):
    """A request under an idempotency key, which one caller carries out while the others wait.

    `at` is when it first came: whoever carries it out again after a crash makes the same ids from
    it and from the key, so that nothing is made twice. `holder` is who carries it out, until
    `until`. Once `status` is set there is an answer, the same for everybody.
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
        """Whether it is another's to carry out from `now` on: the holder's time was up.

        Another request under the same key gets nothing: who asked for the first one may yet come
        again.
        """
        lapsed = self.status is None and self.until <= now
        return lapsed and self.fingerprint == other.fingerprint
