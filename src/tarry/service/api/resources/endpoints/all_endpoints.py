"""Iterate over all endpoints of an application, page by page."""

from collections.abc import AsyncIterator

from tarry.service.api.resources.call import Call
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.store.all_pages import all_pages
from tarry.service.store.kinds import Endpoints


def all_endpoints(call: Call, application: Application) -> AsyncIterator[Endpoint]:
    """Return an iterator that reads the endpoints of an application, page by page."""
    kind = Endpoints(application.id)
    return all_pages(lambda cut: call.hooks.store.page(kind, cut))
