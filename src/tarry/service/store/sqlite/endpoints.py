"""How an endpoint is kept: by whoever changes it, so that everybody who remembers it notices."""

from tarry.service.model.endpoint import Endpoint
from tarry.service.store.sqlite import rows
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.session import Session


def save_endpoint(session: Session, endpoint: Endpoint) -> None:
    """Add or change an endpoint that has its lane."""
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
