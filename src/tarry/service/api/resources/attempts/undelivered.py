"""Operations that list undelivered messages, waiting or failed, with the reason."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from msgspec import Meta, Struct

from tarry.errors import SealError
from tarry.service.api.http.operation import Group
from tarry.service.api.http.paging import MOST_PER_PAGE, Page
from tarry.service.api.http.parsing import WRONG_ITERATOR
from tarry.service.api.http.problem import Invalid
from tarry.service.api.http.times import Instant, instant, instant_or_none
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints.lanes import lane_of
from tarry.service.api.resources.messages.bodies import Name
from tarry.service.explain import waits
from tarry.service.model import ids
from tarry.service.model.delivery import LIVE, Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import LaneRow
from tarry.service.store.kinds import Endpoints, Undelivered, UndeliveredIn
from tarry.service.wire.seal import Place

MOST_QUERIES = 20
"""The most queries to the store for one page; after them the page is returned, even if empty."""
END_OF_LANE = 10**15 - 1
"""A sequence number after all deliveries of a lane."""

group = Group("Undelivered", "v1.undelivered")

Position = tuple[int, int]
Pair = tuple[Endpoint, Delivery]
Read = Callable[[Position], Awaitable[list[Pair]]]


class UndeliveredQuery(Struct, kw_only=True):
    """Which deliveries to list; a page may have fewer than `limit` although more follow."""

    limit: Annotated[int, Meta(ge=1, le=MOST_PER_PAGE)] = 50
    iterator: Annotated[str, Meta(max_length=260, pattern=r"^[a-zA-Z0-9\-_=]+\Z")] | None = None
    state: Literal["ready", "waiting", "failed", "live"] | None = None
    """`live` means `ready` or `waiting`."""
    reason: Reason | None = None
    first_of_each: bool = False
    """List only the first delivery of each endpoint, to find out which endpoints have any."""


class OfApplicationQuery(UndeliveredQuery, kw_only=True):
    """Which deliveries of an application to list; of one endpoint only, if given."""

    endpoint_id: Name | None = None


class UndeliveredOut(Struct, rename="camel", kw_only=True):
    """A message that an endpoint has not received.

    `tries` counts all attempts, and `attempts` only those that count against the retry policy.
    """

    app_id: str
    endpoint_id: str
    msg_id: str
    state: State
    reason: Reason
    next_at: Instant | None
    attempts: int
    tries: int
    accepted_at: Instant
    ended_at: Instant | None


@group.get("/undelivered", name="list")
async def list_undelivered(call: Call, query: UndeliveredQuery) -> Page[UndeliveredOut]:
    """List the waiting and failed deliveries of the environment."""
    environment, store = call.caller.environment, call.hooks.store
    return await _page(
        call,
        query,
        lambda after: store.read(UndeliveredIn(environment, after=after, limit=MOST_PER_PAGE)),
    )


@group.get("/app/{app_id}/undelivered", name="list-of-application")
async def list_of_application(call: Call, query: OfApplicationQuery) -> Page[UndeliveredOut]:
    """List the waiting and failed deliveries of an application."""
    application, store = await call.application(), call.hooks.store
    lane: int | None = None
    if query.endpoint_id is not None:
        lane = (await store.get(Endpoints(application.id), query.endpoint_id)).lane
    return await _page(
        call,
        query,
        lambda after: store.read(
            Undelivered(application.id, lane=lane, after=after, limit=MOST_PER_PAGE)
        ),
    )


async def _page(call: Call, query: UndeliveredQuery, read: Read) -> Page[UndeliveredOut]:
    """Read deliveries from the store until enough of them match the query for one page."""
    shown, after, is_more = list[UndeliveredOut](), _position(call, query.iterator), True
    lanes: dict[str, tuple[LaneRow, list[bytes]]] = {}
    for _ in range(MOST_QUERIES):
        pairs = await read(after)
        is_more = len(pairs) == MOST_PER_PAGE
        for number, (endpoint, delivery) in enumerate(pairs):
            if after == (delivery.lane, END_OF_LANE):
                continue
            after = delivery.lane, delivery.seq
            if endpoint.id not in lanes:
                lanes[endpoint.id] = await lane_of(call, endpoint)
            delivery_out = _undelivered_out(endpoint, delivery, *lanes[endpoint.id], now=call.now)
            fits = _matches(query, delivery_out)
            shown += [delivery_out] if fits else []
            if _is_enough(query, lanes[endpoint.id][0], fits=fits):
                after = delivery.lane, END_OF_LANE
            if len(shown) == query.limit:
                is_more = is_more or number + 1 < len(pairs)
                break
        if not is_more or len(shown) == query.limit:
            break
    mark = _iterator(call, after) if shown or is_more else None
    return Page(data=shown, iterator=mark, prev_iterator=None, done=not is_more)


def _iterator(call: Call, position: Position) -> str:
    """Return the iterator of a position.

    It is sealed, because lanes are numbered across all tenants: a number would tell of the others.
    """
    lane, seq = position
    return urlsafe_b64encode(call.hooks.seals.seal(b"%d.%d" % (lane, seq), _place(call))).decode()


def _position(call: Call, iterator: str | None) -> Position:
    """Return the lane and sequence number after which a page starts."""
    if iterator is None:
        return 0, 0
    try:
        opened = call.hooks.seals.open(urlsafe_b64decode(iterator), _place(call))
    except (SealError, ValueError) as error:
        raise Invalid(["query", "iterator"], WRONG_ITERATOR) from error
    lane, _, seq = opened.partition(b".")
    return int(lane), int(seq)


def _place(call: Call) -> Place:
    return Place(call.caller.environment, "undelivered", "iterator")


def _accepted_at(delivery: Delivery) -> float:
    """Return when a delivery's message was accepted.

    For a scheduled delivery the store has its due time instead, because its age starts only then.
    """
    if delivery.reason is Reason.SCHEDULED:
        return min(delivery.accepted_at, ids.made_at(delivery.message))
    return delivery.accepted_at


def _is_enough(query: UndeliveredQuery, row: LaneRow, *, fits: bool) -> bool:
    """Return whether to skip the rest of a lane; `fits` says if its last delivery matched."""
    return query.first_of_each if fits else query.state == "live" and row.waiting == 0


def _matches(query: UndeliveredQuery, delivery_out: UndeliveredOut) -> bool:
    """Return whether a delivery has the state and the reason that the query asks for."""
    has_state = (
        delivery_out.state in LIVE
        if query.state == "live"
        else query.state in (None, delivery_out.state)
    )
    return has_state and query.reason in (None, delivery_out.reason)


def _undelivered_out(
    endpoint: Endpoint, delivery: Delivery, row: LaneRow, origins: list[bytes], *, now: float
) -> UndeliveredOut:
    """Return a delivery as the API shows it, with the reason why it waits."""
    reason, goes_at = delivery.reason, None
    if delivery.state in LIVE:
        reason, goes_at = waits(delivery, row, now=now, origins=origins)
    return UndeliveredOut(
        app_id=endpoint.application,
        endpoint_id=endpoint.id,
        msg_id=delivery.message,
        state=delivery.state,
        reason=reason,
        next_at=instant_or_none(goes_at),
        attempts=delivery.attempts,
        tries=delivery.tries,
        accepted_at=instant(_accepted_at(delivery)),
        ended_at=instant_or_none(delivery.ended_at),
    )
