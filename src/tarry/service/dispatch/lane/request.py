"""The signed request of one attempt."""

from tarry.service.dispatch.lane.config import LaneConfig
from tarry.service.model.lane import Due
from tarry.service.wire.exchange import Request, Target


def signed_request(  # noqa: PLR0913  all that a request is made of
    config: LaneConfig,
    target: Target,
    due: Due,
    payload: bytes,
    *,
    wall: float,
    connect_timeout: float,
) -> Request:
    """Return the request for a delivery, signed with the time by the wall clock.

    Receivers refuse what was signed long ago, by their own clocks.
    """
    headers = config.signer.headers(due.message, due.tries + 1, payload, now=wall)
    if due.content_type is not None:
        target = target.sending(due.content_type)
    return Request(target, headers, payload, config.timeout, connect_timeout)
