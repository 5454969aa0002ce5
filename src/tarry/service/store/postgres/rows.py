"""Turn rows into the model's values, and these into rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt, Trigger
from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint, Parking, Secret, Standing
from tarry.service.model.lane import Due, Known, LaneRow, Notice, Stream
from tarry.service.model.message import Message
from tarry.service.model.replay import ReplayFilter
from tarry.service.model.task import Task, Work
from tarry.service.model.text import mend

Row = Any
"""asyncpg's; it ships no types."""

_metadata = msgspec.json.Decoder(dict[str, str])
_secrets = msgspec.json.Decoder(tuple[Secret, ...])
_parked = msgspec.json.Decoder(tuple[Parking, ...])
_wanted = msgspec.json.Decoder(ReplayFilter)
_facts = msgspec.json.Decoder(dict[str, str | float | int | None])

# A number is one thing in Python and several in JSON: these keep what they are given.
STATES = {str(state): state for state in State}
REASONS = {str(reason): reason for reason in Reason}
STREAMS = {str(stream): stream for stream in Stream}


def json(value: object) -> str:
    """A value as the database keeps it."""
    return msgspec.json.encode(value).decode()


def application(row: Row, prefix: str = "") -> Application:
    """An application; its columns may have a prefix, and then its id is the endpoint's."""
    return Application(
        id=row["application" if prefix else "id"],
        environment=row[prefix + "environment"],
        name=row[prefix + "name"],
        uid=row[prefix + "uid"],
        rate=row[prefix + "rate"],
        policy=row[prefix + "policy"],
        most_waiting=row[prefix + "most_waiting"],
        metadata=_metadata.decode(row[prefix + "metadata"]),
        created_at=row[prefix + "created_at"],
        updated_at=row[prefix + "updated_at"],
    )


def from_application(value: Application) -> tuple[object, ...]:
    """What `put_application` takes."""
    return (
        value.id,
        value.environment,
        value.uid,
        value.name,
        value.rate,
        value.policy,
        value.most_waiting,
        json(value.metadata),
        value.created_at,
        value.updated_at,
    )


def endpoint(row: Row) -> Endpoint:
    """An endpoint."""
    return Endpoint(
        id=row["id"],
        application=row["application"],
        lane=row["lane"],
        url=row["url"],
        uid=row["uid"],
        description=row["description"],
        event_types=_words(row["event_types"]),
        channels=_words(row["channels"]),
        rate=row["rate"],
        concurrency=row["concurrency"],
        fifo=row["fifo"],
        blocking=row["blocking"],
        policy=row["policy"],
        headers=row["headers"],
        secrets=_secrets.decode(row["secrets"]),
        metadata=_metadata.decode(row["metadata"]),
        standing=Standing(row["standing"]),
        parked=_parked.decode(row["parked"]),
        probed_at=row["probed_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def from_endpoint(value: Endpoint) -> tuple[object, ...]:
    """What `put_endpoint` takes."""
    return (
        value.id,
        value.application,
        value.lane,
        value.url,
        value.uid,
        value.description,
        value.event_types,
        value.channels,
        value.rate,
        value.concurrency,
        value.fifo,
        value.blocking,
        value.policy,
        value.headers,
        json(value.secrets),
        json(value.metadata),
        value.standing,
        json(value.parked),
        value.probed_at,
        value.created_at,
        value.updated_at,
    )


def lane(row: Row) -> LaneRow:
    """A lane with its endpoint and application."""
    return LaneRow(
        endpoint=endpoint(row),
        application=application(row, "a_"),
        known=Known(
            pace=row["pace"],
            origin=row["origin"],
            accepted_at=row["accepted_at"],
            failing_since=row["failing_since"],
            failures=row["failures"],
            warned=row["warned"],
        ),
        added=row["added"],
        ended=row["ended"],
        version=row["version"],
    )


def message(row: Row) -> Message:
    """A message."""
    return Message(
        id=row["id"],
        application=row["application"],
        event_type=row["event_type"],
        payload=row["payload"],
        event_id=row["event_id"],
        channels=tuple(row["channels"]),
        tags=tuple(row["tags"]),
        accepted_at=row["accepted_at"],
        deliver_at=row["deliver_at"],
        payload_until=row["payload_until"],
        content_type=row["content_type"],
    )


def delivery(row: Row) -> Delivery:
    """A delivery."""
    return Delivery(
        lane=row["lane"],
        seq=row["seq"],
        message=row["message"],
        state=STATES[row["state"]],
        reason=REASONS[row["reason"]],
        attempts=row["attempts"],
        tries=row["tries"],
        memory=row["memory"],
        due_at=row["due_at"],
        accepted_at=row["accepted_at"],
        ended_at=row["ended_at"],
    )


def due(row: Row) -> Due:
    """A delivery that may be sent; of a resend, what its message says."""
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
    )


def attempt(row: Row) -> Attempt:
    """An attempt."""
    return Attempt(
        id=row["id"],
        lane=row["lane"],
        message=row["message"],
        number=row["number"],
        at=row["at"],
        took=row["took"],
        url=row["url"],
        status=row["status"],
        kind=row["kind"],
        detail=row["detail"],
        body=row["body"],
        trigger=Trigger(row["trigger"]),
        counted=row["counted"],
        policy=row["policy"],
        now=row["now"],
        draw=row["draw"],
        decision=row["decision"],
    )


ATTEMPT = (
    "lane",
    "id",
    "message",
    "number",
    "at",
    "took",
    "url",
    "status",
    "kind",
    "detail",
    "body",
    "trigger",
    "counted",
    "policy",
    "now",
    "draw",
    "decision",
)
"""The columns of an attempt, in the order of `from_attempt`."""


def from_attempt(value: Attempt) -> tuple[object, ...]:
    """A row of the table of attempts."""
    return (
        value.lane,
        value.id,
        value.message,
        value.number,
        value.at,
        value.took,
        value.url,
        value.status,
        value.kind,
        mend(value.detail),
        value.body,
        value.trigger,
        value.counted,
        value.policy,
        value.now,
        value.draw,
        value.decision,
    )


def task(row: Row) -> Task:
    """A task."""
    return Task(
        id=row["id"],
        work=Work(row["work"]),
        environment=row["environment"],
        application=row["application"],
        endpoint=row["endpoint"],
        lane=row["lane"],
        since=row["since"],
        until=row["until"],
        wanted=None if row["wanted"] is None else _wanted.decode(row["wanted"]),
        cursor=row["cursor"],
        done=row["done"],
        data=msgspec.json.decode(row["data"]),
        created_at=row["created_at"],
        finished_at=row["finished_at"],
        failed=row["failed"],
    )


def notice(row: Row) -> Notice:
    """A notice."""
    return Notice(
        id=row["id"],
        application=row["application"],
        endpoint=row["endpoint"],
        kind=row["kind"],
        facts=_facts.decode(row["facts"]),
        at=row["at"],
    )


def from_notice(value: Notice) -> tuple[object, ...]:
    """What `settle_notices` takes."""
    facts = json(value.facts)
    return (value.id, value.application, value.endpoint, value.kind, facts, value.at)


def columns(rows: Iterable[Sequence[object]], many: int) -> list[list[Any]]:
    """Rows as one list for each of so many columns, for `unnest`."""
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(many)]


def _words(found: list[str] | None) -> tuple[str, ...] | None:
    return None if found is None else tuple(found)
