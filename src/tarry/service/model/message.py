"""A message as it was accepted: the bytes of its payload are stored and signed unchanged."""

from hashlib import blake2b

from msgspec import Struct

from tarry.errors import SettingsError

CHAIN_HEADER = "webhook-chain"
"""The header that says a delivery's place in a chain of deliveries: a receiver that handles one
sends the next message, and so on. A chain that leads back to where it began never ends by itself. A
receiver that passes the header on with what it sends lets the service count, and end the chain."""
MOST_IN_CHAIN = 20


class Message(Struct, frozen=True, kw_only=True):
    """A message to an application's endpoints.

    `event_id` is the sender's own id, unique in the application. It is not sent before
    `deliver_at`. `payload` is None once it was expunged, by hand or by retention. From
    `payload_until` on it need not be kept, once all deliveries have ended. Without a
    `content_type` it is sent as JSON. `chain` is how many deliveries led to it, one caused by the
    other: see `CHAIN_HEADER`. A stored payload that is sealed names its data key in `sealed_with`.
    """

    id: str
    application: str
    event_type: str
    payload: bytes | None
    event_id: str | None = None
    channels: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    accepted_at: float
    deliver_at: float | None = None
    payload_until: float | None = None
    content_type: str | None = None
    chain: int = 0
    sealed_with: str | None = None

    @property
    def is_erased(self) -> bool:
        """Whether its payload cannot be opened any more, because its data key was erased."""
        return self.payload is None and self.sealed_with is not None

    @property
    def is_scheduled(self) -> bool:
        """Whether it is to be sent later than it was accepted."""
        return self.deliver_at is not None and self.deliver_at > self.accepted_at


class NewMessage(Struct, frozen=True):
    """A message to be accepted, once for each idempotency key.

    `key` is unique in the environment. `fingerprint` is a hash of the request: the same key with
    another fingerprint is a conflict, with the same one the result is the first message again.
    The fingerprint is keyed if the payload is sealed. With `only`, an endpoint's id, it goes only
    there, whatever the endpoints want.
    """

    message: Message
    key: str | None = None
    fingerprint: bytes = b""
    only: str | None = None


class Accepted(Struct, frozen=True):
    """A message that is on disk. `repeated` says that it was there before, under the same key."""

    message: Message
    repeated: bool = False


def fingerprint(application: str, request: bytes) -> bytes:
    """Return a hash that distinguishes requests under the same key."""
    return blake2b(b"%s\0%s" % (application.encode(), request), digest_size=32).digest()


def check_chain(chain: int) -> None:
    """Raise SettingsError if a message would begin a delivery beyond the longest chain."""
    if type(chain) is not int or not 0 <= chain < MOST_IN_CHAIN:
        wanted = f"a whole number from 0 to {MOST_IN_CHAIN - 1}: longer chains are ended"
        raise SettingsError("chain", chain, wanted)
