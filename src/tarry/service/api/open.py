"""Build the API from all groups of operations, the access rules and the pages."""

from functools import cache
from typing import Any

from tarry.service.api.app import Api, Page
from tarry.service.api.http.access import Access, Need
from tarry.service.api.http.operation import Group, Operation
from tarry.service.api.http.problem import Answer
from tarry.service.api.http.public_address import PublicAddress
from tarry.service.api.http.rate_limit import RateLimit
from tarry.service.api.http.routes import Routes
from tarry.service.api.openapi.docs_page import docs_page
from tarry.service.api.openapi.document import document
from tarry.service.api.resources.applications import application_list, applications, portal, quotas
from tarry.service.api.resources.attempts import attempts, deliveries, undelivered
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints import (
    endpoints,
    example_message,
    headers,
    lanes,
    operational_webhooks,
    policies,
    recovery,
    secrets,
    stats,
)
from tarry.service.api.resources.environment import (
    audit,
    health,
    keys,
    tasks,
    usage,
    whoami,
)
from tarry.service.api.resources.event_types import event_types
from tarry.service.api.resources.messages import history, ingest
from tarry.service.hooks import Hooks
from tarry.service.web import pages as web

GROUPS = (
    application_list.group,
    applications.group,
    ingest.group,
    deliveries.group,
    attempts.group,
    history.group,
    usage.group,
    tasks.group,
    lanes.group,
    policies.group,
    quotas.group,
    undelivered.group,
    health.group,
    keys.group,
    audit.group,
    portal.group,
    whoami.group,
    endpoints.group,
    event_types.group,
    operational_webhooks.group,
    stats.group,
    recovery.group,
    example_message.group,
    headers.group,
    secrets.group,
)


documents = Group("Document", "v1.document")


def operations() -> list[Operation]:
    """Return all operations of the API."""
    return [operation for group in (*GROUPS, documents) for operation in group.operations]


@documents.get("/openapi.json", needs=Need.NOTHING, tenants=True)
async def openapi(_call: Call) -> dict[str, Any]:
    """Get the OpenAPI document."""
    return written()


@cache
def written() -> dict[str, Any]:
    """Return the OpenAPI document of all operations."""
    return document(operations())


async def make_api(
    hooks: Hooks,
    api_key: str | None,
    *,
    key_rate: float | None = None,
    metrics_key: str | None = None,
    public_address: PublicAddress | None = None,
) -> Api:
    """Return the API for some hooks; `api_key` may do everything in their environment.

    `key_rate` limits the requests a second of each key; None for no limit. With a `metrics_key`,
    only callers that have it can read `/metrics`. Links to the portal begin with the
    `public_address`; without it, with the address that the request was sent to.
    """
    first = None if api_key is None else (api_key, hooks.environment)
    access = Access(hooks.store, await hooks.pepper(), first=first)
    pages = {"/docs": docs, **{path: _fixed_page(answer) for path, answer in web.pages().items()}}
    return Api(
        hooks,
        access,
        Routes(operations()),
        pages=pages,
        limit=RateLimit(key_rate),
        metrics_key=metrics_key,
        public_address=public_address,
    )


def _fixed_page(answer: Answer) -> Page:
    """Return a page with a fixed response."""

    async def page() -> Answer:
        return answer

    return page


async def docs() -> Answer:
    """Return the reference page of the API."""
    return _docs_answer()


@cache
def _docs_answer() -> Answer:
    """Return the page of the API's documentation."""
    # Cached, because anybody may request it, and building it blocks the event loop for 0.1 s.
    return docs_page(written())
