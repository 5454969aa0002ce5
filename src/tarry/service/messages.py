"""Messages, for programs that embed the service and for the HTTP API."""

from collections.abc import Callable, Iterable

import msgspec

from tarry.errors import BacklogFull, Conflict, NotFound
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.audit import Action
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.message import Accepted, Message, NewMessage, check_chain, fingerprint
from tarry.service.model.text import check_instant, check_text, words
from tarry.service.store.contract import Store
from tarry.service.wire.sign import check_headers

BYTES = (bytes, bytearray, memoryview)
"""Types of payloads that are sent unchanged."""


class Messages:
    """The part of `Hooks` about messages."""

    store: Store
    new_id: Callable[[str], str]
    by: Callable[[str], Action]
    _now: Callable[[], float]
    _chance: Callable[[int], bytes]

    def message(  # noqa: PLR0913  the fields of a message
        self,
        application: Application,
        event_type: str,
        payload: object,
        *,
        event_id: str | None = None,
        channels: Iterable[str] = (),
        tags: Iterable[str] = (),
        deliver_at: float | None = None,
        payload_until: float | None = None,
        content_type: str | None = None,
        chain: int = 0,
    ) -> Message:
        """Return a message to be sent. Bytes stay unchanged; anything else becomes JSON."""
        check_text("event_type", event_type)
        check_chain(chain)
        if event_id is not None:
            check_text("event_id", event_id)
        check_instant("deliver_at", deliver_at)
        check_instant("payload_until", payload_until)
        if content_type is not None:
            check_headers([("content-type", content_type)])
        body = bytes(payload) if isinstance(payload, BYTES) else msgspec.json.encode(payload)
        now = self._now()  # read once: lists use the time in the id
        return Message(
            id=ids.make(ids.MESSAGE, now=now, entropy=self._chance(ids.CHANCE)),
            application=application.id,
            event_type=event_type,
            payload=body,
            event_id=event_id,
            channels=words("channels", channels),
            tags=words("tags", tags),
            accepted_at=now,
            deliver_at=deliver_at,
            payload_until=payload_until,
            content_type=content_type,
            chain=chain,
        )

    async def send(  # noqa: PLR0913  the fields of a message
        self,
        application: Application,
        event_type: str,
        payload: object,
        *,
        key: str | None = None,
        event_id: str | None = None,
        channels: Iterable[str] = (),
        tags: Iterable[str] = (),
        deliver_at: float | None = None,
        payload_until: float | None = None,
        content_type: str | None = None,
        chain: int = 0,
    ) -> Accepted:
        """Accept a message: when this returns it is on disk, with all its deliveries.

        With a `key` it is accepted once, however often it is sent. Conflict if the key or the event
        id was used for another message. BacklogFull if too many of the application's deliveries are
        waiting, or, as DiskNearlyFull, if the disk has no room for more. `chain` is the number in
        the header `webhook-chain` of the delivery that caused the message, if one did.
        """
        message = self.message(
            application,
            event_type,
            payload,
            event_id=event_id,
            channels=channels,
            tags=tags,
            deliver_at=deliver_at,
            payload_until=payload_until,
            content_type=content_type,
            chain=chain,
        )
        if key is not None:
            check_text("key", key)
        mark = b"" if key is None else _mark(message)
        (answer,) = await self.send_many([NewMessage(message, key, mark)])
        if isinstance(answer, Accepted):
            return answer
        raise answer

    async def send_many(
        self, messages: Iterable[NewMessage]
    ) -> list[Accepted | Conflict | NotFound | BacklogFull]:
        """Accept messages in one commit; an error in one does not affect the others."""
        return await self.store.add(list(messages))

    async def cancel(self, message: Message) -> int:
        """Make no more attempts at a message; return how many deliveries were cancelled."""
        return await self.store.cancel(
            message.application, message.id, now=self._now(), by=self.by("cancel")
        )

    async def resend(self, endpoint: Endpoint, message: Message) -> None:
        """Make one more attempt now, whatever the state of the delivery is.

        If the endpoint accepts it, a failed delivery becomes delivered. A waiting delivery does not
        change. If there was no delivery, one is added that has ended like the attempt.
        """
        await self.store.resend(
            endpoint, message.id, resend=self.new_id("resend_"), by=self.by("resend")
        )


def _mark(message: Message) -> bytes:
    """Return a fingerprint that distinguishes messages under the same key."""
    identifying = (
        message.event_type,
        message.event_id,
        message.channels,
        message.tags,
        message.deliver_at,
        message.payload_until,
        message.content_type,
    )
    request = msgspec.json.encode(identifying) + (message.payload or b"")
    return fingerprint(message.application, request)
