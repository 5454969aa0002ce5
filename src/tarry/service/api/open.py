"""Put the API together: every group of operations, and who may ask for them."""

from tarry.service.api import (
    applications,
    attempted,
    attempts,
    endpoints,
    event_types,
    examples,
    headers,
    health,
    history,
    ingest,
    keys,
    lanes,
    operational,
    policies,
    portal,
    recovery,
    secrets,
    statistics,
    stats,
    tasks,
    undelivered,
)
from tarry.service.api.access import Access
from tarry.service.api.app import Api
from tarry.service.api.limit import RateLimit
from tarry.service.api.operation import Operation
from tarry.service.api.routes import Routes
from tarry.service.hooks import Hooks

GROUPS = (
    applications.group,
    ingest.group,
    undelivered.group,
    policies.group,
    lanes.group,
    health.group,
    statistics.group,
    attempted.group,
    attempts.group,
    history.group,
    tasks.group,
    keys.group,
    portal.group,
    endpoints.group,
    headers.group,
    secrets.group,
    event_types.group,
    examples.group,
    stats.group,
    recovery.group,
    operational.group,
)


def operations() -> list[Operation]:
    """Everything that can be asked for."""
    return [operation for group in GROUPS for operation in group.operations]


async def make_api(hooks: Hooks, api_key: str | None, *, key_rate: float | None = None) -> Api:
    """The API over some hooks; `api_key` is a key that may do everything in their environment."""
    first = None if api_key is None else (api_key, hooks.environment)
    access = Access(hooks.store, await hooks.pepper(), first=first)
    return Api(hooks, access, Routes(operations()), limit=RateLimit(key_rate))
