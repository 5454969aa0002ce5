"""Convert rows to the model's values, and values to rows; refuse text that cannot be stored."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict, astuple, replace

from tarry.errors import StoreError
from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt, Trigger
from tarry.service.model.audit import ActorKind, AuditEntry, FieldChange
from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint, Parking, Secret, Standing, Subscriber
from tarry.service.model.lane import Due, Known, LaneRow, Notice, Stream
from tarry.service.model.message import Message
from tarry.service.model.replay import ReplayFilter
from tarry.service.model.task import Task, Work
from tarry.service.model.text import MOST_SHOWN, mend

Row = Any
"""A row of asyncpg, which ships no types."""
Value = TypeVar("Value", bound=msgspec.Struct)

_metadata = msgspec.json.Decoder(dict[str, str])
_secrets = msgspec.json.Decoder(tuple[Secret, ...])
_parked = msgspec.json.Decoder(tuple[Parking, ...])
_wanted = msgspec.json.Decoder(ReplayFilter)
_changes = msgspec.json.Decoder(tuple[FieldChange, ...])
_facts = msgspec.json.Decoder(dict[str, str | float | int | None])

# Enum members by their values.
STATE_BY_NAME = {str(state): state for state in State}
REASON_BY_NAME = {str(reason): reason for reason in Reason}
STREAMS = {str(stream): stream for stream in Stream}


def json(value: object) -> str:
    """Return a value as JSON."""
    return msgspec.json.encode(value).decode()


def application(row: Row, prefix: str = "") -> Application:
    """Return an application; with a column prefix, its id is the endpoint's `application`."""
    fields = {name: row[prefix + name] for name in Application.__struct_fields__ if name != "id"}
    fields["id"] = row["application" if prefix else "id"]
    fields["metadata"] = _metadata.decode(fields["metadata"])
    return Application(**fields)


def from_application(value: Application) -> tuple[object, ...]:
    """Return the parameters of `put_application`."""
    return _columns_of(value, metadata=json(value.metadata))


def endpoint(row: Row) -> Endpoint:
    """Return the endpoint of a row."""
    return _build(
        Endpoint,
        row,
        event_types=_words(row["event_types"]),
        channels=_words(row["channels"]),
        secrets=_secrets.decode(row["secrets"]),
        metadata=_metadata.decode(row["metadata"]),
        standing=Standing(row["standing"]),
        parked=_parked.decode(row["parked"]),
    )


def subscriber(row: Row) -> Subscriber:
    """Return the subscriber of a row."""
    return _build(
        Subscriber,
        row,
        event_types=_words(row["event_types"]),
        channels=_words(row["channels"]),
        standing=Standing(row["standing"]),
    )


def from_endpoint(value: Endpoint) -> tuple[object, ...]:
    """Return the parameters of `put_endpoint`."""
    return _columns_of(
        value,
        secrets=json(value.secrets),
        metadata=json(value.metadata),
        parked=json(value.parked),
    )


def lane(row: Row) -> LaneRow:
    """Return a lane with its endpoint and application."""
    return LaneRow(
        endpoint=endpoint(row),
        application=application(row, "a_"),
        policy=row["environment_policy"],
        known=_build(Known, row),
        added=row["added"],
        ended=row["ended"],
        version=row["version"],
    )


def message(row: Row) -> Message:
    """Return the message of a row."""
    return _build(Message, row, channels=tuple(row["channels"]), tags=tuple(row["tags"]))


def delivery(row: Row) -> Delivery:
    """Return the delivery of a row."""
    return Delivery(
        lane=row["lane"],
        seq=row["seq"],
        message=row["message"],
        state=STATE_BY_NAME[row["state"]],
        reason=REASON_BY_NAME[row["reason"]],
        attempts=row["attempts"],
        tries=row["tries"],
        memory=row["memory"],
        due_at=row["due_at"],
        accepted_at=row["accepted_at"],
        ended_at=row["ended_at"],
    )


def due(row: Row) -> Due:
    """Return a delivery that may be sent; for a resend, `accepted_at` is the message's."""
    accepted_at = row["accepted_at"]
    return Due(
        lane=row["lane"],
        seq=row["seq"],
        stream=STREAMS[row["stream"]],
        message=row["message"],
        event_type=row["event_type"],
        payload=row["payload"],
        accepted_at=row["message_accepted_at"] if accepted_at is None else accepted_at,
        due_at=row["due_at"],
        tries=row["tries"],
        attempts=row["attempts"],
        memory=row["memory"],
        resend=row["resend"],
        content_type=row["content_type"],
        chain=row["chain"],
        sealed_with=row["sealed_with"],
    )


def attempt(row: Row) -> Attempt:
    """Return the attempt of a row."""
    return _build(Attempt, row, trigger=Trigger(row["trigger"]))


def from_attempt(value: Attempt) -> tuple[object, ...]:
    """Return the row of an attempt, to insert it."""
    detail = mend(value.detail)
    return astuple(value if detail is value.detail else replace(value, detail=detail))


def task(row: Row) -> Task:
    """Return the task of a row."""
    return _build(
        Task,
        row,
        work=Work(row["work"]),
        wanted=None if row["wanted"] is None else _wanted.decode(row["wanted"]),
        data=msgspec.json.decode(row["data"]),
    )


def from_task(value: Task) -> tuple[object, ...]:
    """Return the parameters of `add_task`, without the shard."""
    wanted = None if value.wanted is None else json(value.wanted)
    return _columns_of(value, wanted=wanted, data=json(value.data))


def notice(row: Row) -> Notice:
    """Return the notice of a row."""
    return _build(Notice, row, facts=_facts.decode(row["facts"]))


def from_notice(value: Notice) -> tuple[object, ...]:
    """Return the parameters of `settle_notices`."""
    return _columns_of(value, facts=json(value.facts))


def audit_entry(row: Row) -> AuditEntry:
    """Return the entry of a row."""
    return _build(
        AuditEntry, row, actor=ActorKind(row["actor"]), changes=_changes.decode(row["changes"])
    )


def from_audit_entry(value: AuditEntry) -> tuple[object, ...]:
    """Return the parameters of `change_entry`."""
    return _columns_of(value, changes=json(value.changes))


def columns(rows: Iterable[Sequence[object]], count: int) -> list[list[object]]:
    """Return rows as `count` lists, one for each column, for `unnest`."""
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(count)]


def _words(names: list[str] | None) -> tuple[str, ...] | None:
    """Return an array of text as a tuple; None stays None."""
    return None if names is None else tuple(names)


def _build(kind: type[Value], row: Row, **converted: object) -> Value:
    """Build a value from the columns named like its fields, except the fields in `converted`."""
    names = kind.__struct_fields__
    return kind(**{name: converted[name] if name in converted else row[name] for name in names})


def _columns_of(value: msgspec.Struct, **converted: object) -> tuple[object, ...]:
    """Return the fields of a value in order; those in `converted` replace the value's own."""
    return tuple((asdict(value) | converted).values())


def refuse_nul(*texts: str | None) -> None:
    """Raise if a text contains NUL, which would make the whole transaction fail."""
    for text in texts:
        if text is not None and "\0" in text:
            raise StoreError(f"text with a NUL character cannot be stored: {text[:MOST_SHOWN]!r}")
