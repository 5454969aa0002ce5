"""A message, as it was accepted: the bytes of its payload are kept and signed untouched."""

from hashlib import blake2b

from msgspec import Struct


class Message(Struct, frozen=True, kw_only=True):
    """What an application's endpoints are to be told.

    `event_id` is the sender's own id, given once for each application. With `deliver_at` it is not
    sent before. `payload` is None once it was expunged, by hand or by retention; from
    `payload_until` on it need not be kept, once nothing of it is to be sent any more. Without a
    `content_type` it is sent as JSON.
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

    @property
    def is_scheduled(self) -> bool:
        """Return whether it is to be sent later than when it was accepted."""
        return self.deliver_at is not None and self.deliver_at > self.accepted_at


class NewMessage(Struct, frozen=True):
    """A message to be accepted, once for each idempotency key.

    `key` is scoped by the environment. `fingerprint` sums up the request: the same key with
    another request is a conflict, with the same one the answer is the first message again. With
    `only`, an endpoint's id, it goes there and nowhere else, whatever the endpoints want.
    """

    message: Message
    key: str | None = None
    fingerprint: bytes = b""
    only: str | None = None


class Accepted(Struct, frozen=True):
    """A message is on disk. `repeated` if it was there already, under the same key."""

    message: Message
    repeated: bool = False


def fingerprint(application: str, request: bytes) -> bytes:
    """What tells a request from another one that came under the same key."""
    return blake2b(b"%s\0%s" % (application.encode(), request), digest_size=32).digest()
