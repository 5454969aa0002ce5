"""The operation that lists applications, with filters that leave some of them out."""

from urllib.parse import urlsplit

from msgspec.structs import replace

from tarry.service.api.http.operation import Group
from tarry.service.api.http.paging import ApplicationMark, OrderedQuery, Page, cut, page
from tarry.service.api.resources.applications.applications import ApplicationOut, application_out
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints.all_endpoints import all_endpoints
from tarry.service.api.resources.endpoints.bodies import DISABLED
from tarry.service.model.application import Application
from tarry.service.model.listing import Found
from tarry.service.store.kinds import Applications

MOST_CHECKED = 1_000
"""The most applications that are checked for one filtered page: each check needs a query."""
PLAY_HOSTS = frozenset({"play.svix.com", "api.play.svix.com"})
"""The hosts of Svix Play, a public receiver for trying things out."""

group = Group("Application", "v1.application")


class ApplicationQuery(OrderedQuery, kw_only=True):
    """The page of the list, and which applications to leave out, by their endpoints."""

    iterator: ApplicationMark | None = None
    exclude_apps_with_no_endpoints: bool = False
    exclude_apps_with_disabled_endpoints: bool = False
    exclude_apps_with_svix_play_endpoints: bool = False

    @property
    def excludes(self) -> bool:
        """Whether any filter is set."""
        return (
            self.exclude_apps_with_no_endpoints
            or self.exclude_apps_with_disabled_endpoints
            or self.exclude_apps_with_svix_play_endpoints
        )


@group.get("/app", name="list")
async def list_applications(call: Call, query: ApplicationQuery) -> Page[ApplicationOut]:
    """List the applications of the environment.

    The `exclude_...` parameters leave out applications that have no endpoints, only disabled
    endpoints, or only endpoints at Svix Play.
    """
    listed = await _filtered(call, query)
    return page(
        listed.entries,
        query,
        application_out,
        lambda application: application.id,
        left_at=listed.left_at,
    )


async def _filtered(call: Call, query: ApplicationQuery) -> Found[Application]:
    """Read applications from the store until enough of them pass the filters for one page."""
    part, passed, checked = cut(query), list[Application](), 0
    while True:
        applications = (
            await call.hooks.store.page(Applications(call.caller.environment), part)
        ).entries
        if not query.excludes:
            return Found(applications)
        in_order = applications[::-1] if part.back else applications
        passed += [
            application
            for application in in_order
            if await _passes_filters(call, query, application)
        ]
        checked += len(applications)
        if len(applications) < part.limit or len(passed) >= part.limit:
            return Found(part.in_order(passed))
        if checked >= MOST_CHECKED:
            return Found(part.in_order(passed), in_order[-1].id)
        part = replace(part, mark=in_order[-1].id)


async def _passes_filters(call: Call, query: ApplicationQuery, application: Application) -> bool:
    """Return whether an application passes the filters; read only as many endpoints as needed."""
    is_empty, is_enabled, is_elsewhere = True, False, False
    async for endpoint in all_endpoints(call, application):
        is_empty = False
        is_enabled = is_enabled or endpoint.standing not in DISABLED
        is_elsewhere = is_elsewhere or urlsplit(endpoint.url).hostname not in PLAY_HOSTS
        if is_enabled and is_elsewhere:
            return True
    if is_empty:
        return not query.exclude_apps_with_no_endpoints
    if not is_enabled and query.exclude_apps_with_disabled_endpoints:
        return False
    return is_elsewhere or not query.exclude_apps_with_svix_play_endpoints
