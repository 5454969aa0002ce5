"""Save endpoints, and raise the versions by which caches notice the change."""

import apsw

from tarry.errors import Conflict
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Noting
from tarry.service.model.task import Task, discarding
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.queue.tasks import put_task


def keep_endpoint(session: Session, endpoint: Endpoint) -> Endpoint:
    """Save an endpoint and wake its lane; if it is deleted, add the task that discards."""
    try:
        save_endpoint(session, endpoint)
    except apsw.ConstraintError:
        raise Conflict("endpoint", str(endpoint.uid)) from None
    if endpoint.standing is Standing.DELETED:
        put_task(session, discard_task(session, endpoint))
    session.wake([endpoint.lane])
    return endpoint


def save_notices(
    session: Session, noting: Noting | None, before: Endpoint | None, after: Endpoint
) -> None:
    """Save the notices that `noting` returns for a change of an endpoint."""
    for notice in () if noting is None else noting(before, after):
        session.db.execute(SQL["settle_notice"], (notice.id, notice.at, rows.document(notice)))


def discard_task(session: Session, deleted: Endpoint) -> Task:
    """Return the discard task of a deleted endpoint."""
    environment = session.db.execute(SQL["delete_endpoint_environment"], (deleted.application,)).get
    return discarding(deleted, str(environment))


def stored_endpoint(session: Session, endpoint: str) -> Endpoint | None:
    """Return the endpoint with this id as it is stored now, deleted or not."""
    document = session.db.execute(SQL["put_endpoint_known"], (endpoint,)).get
    return None if document is None else rows.ENDPOINT.decode(document)


def save_endpoint(session: Session, endpoint: Endpoint) -> None:
    """Insert or update an endpoint that has its lane."""
    session.db.execute(
        SQL["put_endpoint"],
        {
            "id": endpoint.id,
            "application": endpoint.application,
            "uid": endpoint.uid,
            "lane": endpoint.lane,
            "standing": endpoint.standing.value,
            "sealed": bool(endpoint.secrets or endpoint.headers is not None),
            "document": rows.document(endpoint),
        },
    )
    session.db.execute(SQL["put_endpoint_changed"], (endpoint.application,))
    session.db.execute(SQL["put_endpoint_lane_changed"], (endpoint.lane,))
