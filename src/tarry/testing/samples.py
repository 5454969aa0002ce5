"""Objects of the webhook service with sensible values: a test gives only what matters to it."""

from itertools import count

from msgspec.structs import replace

from tarry.service.model.application import SHARDS, Application
from tarry.service.model.attempt import Attempt, Settlement
from tarry.service.model.audit import Action, ActorKind
from tarry.service.model.claim import Claim
from tarry.service.model.data_key import DataKey
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.event_type import EventType
from tarry.service.model.ids import APPLICATION, ATTEMPT, CHANCE, ENDPOINT, MESSAGE, TASK, make
from tarry.service.model.key import Key
from tarry.service.model.lane import Due, Notice, Stream
from tarry.service.model.message import Message, NewMessage
from tarry.service.model.task import Task, Work

NOON = 1_800_000_000.0
"""When things in samples happen, unless a test gives another time."""
ENVIRONMENT = "org_sample"
ALL_SHARDS = range(SHARDS)

_count = count(1)


def new_id(prefix: str) -> str:
    """Return an id that no other sample has; ids sort in the order of their creation."""
    middle = (next(_count) + 0.5) / 1000  # of a millisecond: rounding does not change which one
    return make(prefix, now=NOON + middle, entropy=bytes(19))


def an_application(**values: object) -> Application:
    """Return an application in `ENVIRONMENT`."""
    defaults = Application(
        id=new_id(APPLICATION),
        environment=ENVIRONMENT,
        name="Acme",
        created_at=NOON,
        updated_at=NOON,
    )
    return replace(defaults, **values)


def an_endpoint(application: str | Application, **values: object) -> Endpoint:
    """Return an endpoint of an application that gets every message."""
    defaults = Endpoint(
        id=new_id(ENDPOINT),
        application=_id(application),
        url="https://hooks.example/in",
        created_at=NOON,
        updated_at=NOON,
    )
    return replace(defaults, **values)


def a_message(application: str | Application, **values: object) -> Message:
    """Return a message to the endpoints of an application."""
    defaults = Message(
        id=new_id(MESSAGE),
        application=_id(application),
        event_type="invoice.paid",
        payload=b'{"total": 12}',
        accepted_at=NOON,
    )
    return replace(defaults, **values)


def new_message(
    application: str | Application,
    *,
    key: str | None = None,
    fingerprint: bytes = b"",
    **values: object,
) -> NewMessage:
    """Return a message to be accepted, with its idempotency key if given."""
    return NewMessage(a_message(application, **values), key, fingerprint)


def a_data_key(application: str | Application, **values: object) -> DataKey:
    """Return a data key of an application; it is not sealed, and seals nothing."""
    defaults = DataKey(
        id=new_id("dkey_"), application=_id(application), sealed=b"\x00key", created_at=NOON
    )
    return replace(defaults, **values)


def a_due(**values: object) -> Due:
    """Return a delivery that may be sent, as a store returns it."""
    defaults = Due(
        lane=1,
        seq=1,
        stream=Stream.READY,
        message="msg_sample",
        event_type="invoice.paid",
        payload=b'{"total": 12}',
        accepted_at=NOON,
    )
    return replace(defaults, **values)


def an_attempt(due: Due, **values: object) -> Attempt:
    """Return the next attempt of a fetched delivery; by default it met a server error."""
    defaults = Attempt(
        id=new_id(ATTEMPT),
        lane=due.lane,
        message=due.message,
        number=due.tries + 1,
        at=NOON,
        took=0.25,
        url="https://hooks.example/in",
        status=500,
        kind="server error",
    )
    return replace(defaults, **values)


def delivered(due: Due, **values: object) -> Settlement:
    """Settle a fetched delivery as delivered, under the first lease of its shard."""
    defaults = Settlement(
        lane=due.lane,
        epoch=1,
        seq=due.seq,
        message=due.message,
        tries=due.tries,
        state=State.DELIVERED,
        reason=Reason.DELIVERED,
        attempts=due.attempts + 1,
        ended_at=NOON,
        attempt=an_attempt(due, status=204, kind=None),
    )
    return replace(defaults, **values)


def postponed(due: Due, due_at: float, **values: object) -> Settlement:
    """Settle a fetched delivery as failed for now: it waits until `due_at`."""
    defaults = {
        "state": State.WAITING,
        "reason": Reason.BACKOFF,
        "due_at": due_at,
        "memory": 10.0,
        "ended_at": None,
        "attempt": an_attempt(due),
    }
    return delivered(due, **{**defaults, **values})


def put_back(due: Due, **values: object) -> Settlement:
    """Settle a fetched delivery that met a lane that is down: ready again, attempt not counted."""
    defaults = {
        "state": State.READY,
        "reason": Reason.LANE_OPEN,
        "attempts": due.attempts,
        "ended_at": None,
        "attempt": an_attempt(due, counted=False),
    }
    return delivered(due, **{**defaults, **values})


def failed(due: Due, **values: object) -> Settlement:
    """Settle a fetched delivery as permanently failed."""
    defaults = {"state": State.FAILED, "reason": Reason.EXHAUSTED, "attempt": an_attempt(due)}
    return delivered(due, **{**defaults, **values})


def a_notice(endpoint: Endpoint, **values: object) -> Notice:
    """Return a notice to the owner of an endpoint."""
    defaults = Notice(
        id=new_id("notice_"),
        application=endpoint.application,
        endpoint=endpoint.id,
        kind="endpoint.failing",
        facts={"share": 0.5, "failures": 7, "since": None, "url": endpoint.url},
        at=NOON,
    )
    return replace(defaults, **values)


def a_task(endpoint: Endpoint, work: Work, **values: object) -> Task:
    """Return a task for the lane of an endpoint, which must have one."""
    defaults = Task(
        id=new_id(TASK),
        work=work,
        environment=ENVIRONMENT,
        application=endpoint.application,
        endpoint=endpoint.id,
        lane=endpoint.lane,
        created_at=NOON,
    )
    return replace(defaults, **values)


def an_event_type(name: str, **values: object) -> EventType:
    """Return an event type of `ENVIRONMENT`."""
    defaults = EventType(
        environment=ENVIRONMENT,
        name=name,
        description="Somebody paid",
        created_at=NOON,
        updated_at=NOON,
    )
    return replace(defaults, **values)


def a_key(**values: object) -> Key:
    """Return an API key to `ENVIRONMENT`."""
    key_id = new_id("key_")
    defaults = Key(
        id=key_id,
        environment=ENVIRONMENT,
        hash=key_id.encode(),
        created_at=NOON,
    )
    return replace(defaults, **values)


def an_action(**values: object) -> Action:
    """Return an action with a key to `ENVIRONMENT`, a millisecond after that of the last sample."""
    number = next(_count)
    defaults = Action(
        environment=ENVIRONMENT,
        at=NOON + number / 1000,
        actor=ActorKind.KEY,
        key="key_1",
        operation="v1.some.operation",
        address="192.0.2.7",
        chance=number.to_bytes(CHANCE),
    )
    return replace(defaults, **values)


def a_claim(holder: str, **values: object) -> Claim:
    """Return a claim of the request `order-1` that came at noon, held for ten seconds."""
    defaults = Claim(
        environment=ENVIRONMENT,
        key="order-1",
        fingerprint=b"\x00\xff",
        at=NOON,
        holder=holder,
        until=NOON + 10,
    )
    return replace(defaults, **values)


def _id(application: str | Application) -> str:
    """Return the id of an application."""
    return application if isinstance(application, str) else application.id
