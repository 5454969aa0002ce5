"""Sends notices to an environment's operational webhooks, as messages like any other.

Each notice is sent once, even if several workers try: its id is the message's idempotency key.
Notices about the operational endpoints themselves are not sent, except that one was disabled.
Otherwise notices would cause more notices.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from tarry.errors import BacklogFull, NotFound
from tarry.service.model import ids, operational
from tarry.service.model.application import Application, shard_of
from tarry.service.model.ids import entropy
from tarry.service.model.lane import LaneRow, Notice
from tarry.service.model.message import Message, NewMessage
from tarry.service.store.contract import Store
from tarry.service.store.kinds import Applications, Lanes, Messages, Notices

CHUNK = 100
"""How many notices are read together."""
DISABLED = "endpoint.disabled"
_MARK = b"news"

Data = dict[str, object]


class NoticeSender:
    """Sends new notices, again and again from the first: one that must wait delays no others."""

    def __init__(self, store: Store, chance: Callable[[int], bytes] = entropy) -> None:
        self._store, self._chance = store, chance
        self._after = ""

    async def send_once(self, shards: Collection[int], now: float) -> int:
        """Send the next notices of applications in these shards; return how many are done."""
        unsent = await self._store.read(Notices(unsent=True, after=self._after, limit=CHUNK))
        mine = [notice for notice in unsent if shard_of(notice.application) in shards]
        done = await self._send(mine, now)
        self._after = unsent[-1].id if len(unsent) == CHUNK else ""
        return done

    async def _send(self, mine: Sequence[Notice], now: float) -> int:
        if not mine:
            return 0
        notice_messages = _NoticeMessages(self._store, self._chance, now)
        messages = {notice.id: await notice_messages.message(notice) for notice in mine}
        new = [
            NewMessage(message, key, _MARK)
            for key, message in messages.items()
            if message is not None
        ]
        answers = await self._store.add(new) if new else []
        later = {
            sent.key
            for sent, answer in zip(new, answers, strict=True)
            if isinstance(answer, BacklogFull)
        }
        done = [notice.id for notice in mine if notice.id not in later]
        await self._store.mark_sent(done)
        return len(done)


class _NoticeMessages:
    """Makes messages of notices, and caches the applications with operational webhooks."""

    def __init__(self, store: Store, chance: Callable[[int], bytes], now: float) -> None:
        self._store, self._chance, self._now = store, chance, now
        self._receivers: dict[str, Application | None] = {}

    async def message(self, notice: Notice) -> Message | None:
        """Return the message for a notice; None if it is not to be sent or has no receiver."""
        try:
            row = await self._store.get(Lanes(notice.application), notice.endpoint)
        except NotFound:
            return None
        environment = row.application.environment
        if operational.is_hidden(environment) and notice.kind != DISABLED:
            return None
        receiver = await self._receiver(operational.hidden(environment))
        if receiver is None:
            return None
        payload = {"type": notice.kind, "data": await self._data(notice, row)}
        return Message(
            id=ids.make(ids.MESSAGE, now=self._now, entropy=self._chance(ids.CHANCE)),
            application=receiver.id,
            event_type=notice.kind,
            payload=msgspec.json.encode(payload),
            accepted_at=self._now,
        )

    async def _receiver(self, hidden: str) -> Application | None:
        if hidden not in self._receivers:
            try:
                application = await self._store.get(Applications(hidden), operational.UID)
            except NotFound:
                self._receivers[hidden] = None
            else:
                self._receivers[hidden] = application
        return self._receivers[hidden]

    async def _data(self, notice: Notice, row: LaneRow) -> Data:
        uid = notice.facts.get("endpoint_uid", row.endpoint.uid)
        data: Data = {
            "appId": row.application.id,
            "appUid": row.application.uid,
            "endpointId": row.endpoint.id,
            "endpointUid": uid,
        }
        match notice.kind.partition(".")[0]:
            case "message":
                return data | await self._of_message(notice)
            case _:
                return data | _of_endpoint(notice)

    async def _of_message(self, notice: Notice) -> Data:
        message_id, event_id = str(notice.facts.get("message", "")), None
        with suppress(NotFound):  # the message was swept meanwhile
            event_id = (await self._store.get(Messages(notice.application), message_id)).event_id
        return {
            "msgId": message_id,
            "msgEventId": event_id,
            "lastAttempt": {
                "id": notice.facts.get("attempt") or "",
                "responseStatusCode": notice.facts.get("status") or 0,
                "timestamp": _as_text(notice.facts.get("attempted_at") or notice.at),
            },
            "reason": notice.facts.get("reason"),
        }


def _of_endpoint(notice: Notice) -> Data:
    facts: Mapping[str, object] = notice.facts
    if notice.kind == DISABLED:
        since = facts.get("since") or notice.at
        trigger = facts.get("trigger", "automatic")
        fails = None if trigger == "manual" else _as_text(since)
        return {"failSince": fails, "trigger": trigger, "reason": facts.get("why")}
    data: Data = {}
    if "since" in facts:
        data["failSince"] = _as_text(facts["since"] or notice.at)
    if "share" in facts:
        data["share"] = facts["share"]
    if "why" in facts:
        data["reason"] = facts["why"]
    return data


def _as_text(at: object) -> str:
    moment = datetime.fromtimestamp(float(str(at)), UTC)
    return moment.isoformat().replace("+00:00", "Z")
