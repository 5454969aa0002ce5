"""Convert rows of this database to values, and values to rows; write many rows at once.

The columns are in the order of the queries. Values that are only read as a whole (endpoints,
applications, tasks, notices, entries of the audit trail) are saved as JSON documents, beside the
columns that queries search.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any  # a row's columns have no types before they are put into a value

import apsw
from msgspec import json

from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt, Trigger
from tarry.service.model.audit import AuditEntry
from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Key
from tarry.service.model.lane import Due, Known, LaneRow, Notice, Stream
from tarry.service.model.message import Message
from tarry.service.model.task import Task
from tarry.service.model.text import mend

Row = tuple[Any, ...]

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 500)
"""Row counts of a statement. The smallest that is large enough is used, and padded with NULLs."""
LONGEST_STATEMENT = 16 * 1024
"""Characters of a statement: apsw does not cache longer ones, so they are prepared each time."""

APPLICATION = json.Decoder(Application)
AUDIT_ENTRY = json.Decoder(AuditEntry)
ENDPOINT = json.Decoder(Endpoint)
EVENT_TYPE = json.Decoder(EventType)
KEY = json.Decoder(Key)
KNOWN = json.Decoder(Known)
NOTICE = json.Decoder(Notice)
TASK = json.Decoder(Task)
_WORDS = json.Decoder(tuple[str, ...])
_ROW = re.compile(r"VALUES (\([?, ]+\))")


def document(value: Application | Endpoint | EventType | Key | Known | Notice | Task) -> str:
    """Return a value as a JSON document."""
    return json.encode(value).decode()


def array(values: Iterable[int | str]) -> str:
    """Return values to search for as one parameter, a JSON array."""
    return json.encode(list(values)).decode()


def words(text: str) -> tuple[str, ...]:
    """Return the words of a JSON array."""
    return () if text == "[]" else _WORDS.decode(text)


def message(row: Row) -> Message:
    """Return the message of a row."""
    message_id, application, event_type, payload, event_id, channels, tags, accepted_at, *rest = row
    deliver_at, payload_until, content_type, chain, sealed_with = rest
    return Message(
        id=message_id,
        application=application,
        event_type=event_type,
        payload=payload,
        event_id=event_id,
        channels=words(channels),
        tags=words(tags),
        accepted_at=accepted_at,
        deliver_at=deliver_at,
        payload_until=payload_until,
        content_type=content_type,
        chain=chain,
        sealed_with=sealed_with,
    )


def message_row(number: int, message: Message) -> Row:
    """Return the row of a message, to insert it."""
    return (
        number,
        message.id,
        message.application,
        message.event_type,
        message.event_id,
        array(message.channels) if message.channels else "[]",
        array(message.tags) if message.tags else "[]",
        message.accepted_at,
        message.deliver_at,
        message.payload_until,
        message.content_type,
        message.chain,
        message.payload,
        message.sealed_with,
    )


def delivery(row: Row) -> Delivery:
    """Return the delivery of a row of eleven columns."""
    lane, seq, message_id, state, reason, attempts, tries, memory, *instants = row
    due_at, accepted_at, ended_at = instants
    return Delivery(
        lane=lane,
        seq=seq,
        message=message_id,
        state=State(state),
        reason=Reason(reason),
        attempts=attempts,
        tries=tries,
        memory=memory,
        due_at=due_at,
        accepted_at=accepted_at,
        ended_at=ended_at,
    )


def delivery_with_endpoint(row: Row) -> tuple[Endpoint, Delivery]:
    """Return a row's endpoint document and the delivery after it."""
    return ENDPOINT.decode(row[0]), delivery(row[1:])


def message_with_delivery(row: Row) -> tuple[Message, Delivery]:
    """Return a row's message, which comes after its delivery, and the delivery."""
    return message(row[11:]), delivery(row[:11])


def due(row: Row, stream: Stream) -> Due:
    """Return the delivery or resend of a row, with its payload."""
    lane, seq, message_id, event_type, payload, accepted_at, due_at, tries, attempts, *rest = row
    memory, resend, content_type, chain, sealed_with = rest
    return Due(
        lane=lane,
        seq=seq,
        stream=stream,
        message=message_id,
        event_type=event_type,
        payload=payload,
        accepted_at=accepted_at,
        due_at=due_at,
        tries=tries,
        attempts=attempts,
        memory=memory,
        resend=resend,
        content_type=content_type,
        chain=chain,
        sealed_with=sealed_with,
    )


def attempt(row: Row) -> Attempt:
    """Return the attempt of a row."""
    attempt_id, lane, message_id, number, at, took, url, status, kind, detail, body, *rest = row
    trigger, counted, policy, now, draw, decision, sealed_with = rest
    return Attempt(
        id=attempt_id,
        lane=lane,
        message=message_id,
        number=number,
        at=at,
        took=took,
        url=url,
        status=status,
        kind=kind,
        detail=detail,
        body=body,
        trigger=Trigger(trigger),
        counted=bool(counted),
        policy=policy,
        now=now,
        draw=draw,
        decision=decision,
        sealed_with=sealed_with,
    )


def attempt_with_endpoint(row: Row) -> tuple[Attempt, Endpoint]:
    """Return a row's attempt, which comes after its endpoint's document, and the endpoint."""
    return attempt(row[1:]), ENDPOINT.decode(row[0])


def attempt_with_message(row: Row) -> tuple[Attempt, Message]:
    """Return a row's attempt and the message after it."""
    return attempt(row[:18]), message(row[18:])


def attempt_row(attempt: Attempt, message: int) -> Row:
    """Return the row of an attempt with its message's number, to insert it."""
    return (
        attempt.lane,
        attempt.id,
        message,
        attempt.number,
        attempt.at,
        attempt.took,
        attempt.url,
        attempt.status,
        attempt.kind,
        mend(attempt.detail),
        attempt.body,
        attempt.trigger,
        attempt.counted,
        attempt.policy,
        attempt.now,
        attempt.draw,
        attempt.decision,
        attempt.sealed_with,
    )


def lane_row(row: Row) -> LaneRow:
    """Return a lane with its endpoint and application."""
    endpoint, application, known, added, ended, version, policy = row
    return LaneRow(
        endpoint=ENDPOINT.decode(endpoint),
        application=APPLICATION.decode(application),
        policy=policy,
        known=Known() if known is None else KNOWN.decode(known),
        added=added,
        ended=ended,
        version=version,
    )


def write_rows(db: apsw.Connection, sql: str, rows: Sequence[Row]) -> None:
    """Run a query with the placeholders of one row, `VALUES (?, ?)`, for all these rows.

    It uses few statements. SQLite lets other threads run during a statement: with one statement for
    each row, the writer would wait for the interpreter after each of them, while the loop's thread
    handles incoming requests. Rows of NULLs are added to fill up a statement, and the query must
    ignore them.
    """
    widths = _widths(sql)
    for start in range(0, len(rows), widths[-1]):
        part = rows[start : start + widths[-1]]
        width = next(width for width in widths if width >= len(part))
        padding = (None,) * (len(part[0]) * (width - len(part)))
        db.execute(widened(sql, width), (*chain.from_iterable(part), *padding))


@lru_cache(maxsize=100)
def _widths(sql: str) -> tuple[int, ...]:
    """Return how many rows at a time a statement may insert without becoming too long."""
    return tuple(width for width in WIDTHS if len(widened(sql, width)) <= LONGEST_STATEMENT)


@lru_cache(maxsize=100)
def widened(sql: str, width: int) -> str:
    """Return the query for `width` rows."""
    head, row, tail = _ROW.split(sql)
    return f"{head}VALUES {','.join([row.replace(' ', '')] * width)}{tail}"
