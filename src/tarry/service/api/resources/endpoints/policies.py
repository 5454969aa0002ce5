"""Operations on retry policies of endpoints, applications and the environment."""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from tarry.core.codec import to_dict
from tarry.core.policy import Policy
from tarry.core.schema import policy_schema
from tarry.errors import PolicyError
from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.http.problem import Invalid
from tarry.service.api.resources.applications import applications
from tarry.service.api.resources.call import Call
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.policy import check_policy, read_policy
from tarry.service.model.settings import DELIVERY
from tarry.service.store.kinds import Environments

ENVIRONMENT = "/environment/policy"
APPLICATION_PATH = "/app/{app_id}/policy"
ENDPOINT = "/app/{app_id}/endpoint/{endpoint_id}/policy"

group = Group("Policy", "v1.policy")

_SCHEMA: dict[str, Any] = {
    name: rule for name, rule in policy_schema().items() if not name.startswith("$")
}
_SCHEMA["properties"]["within"] |= {
    "description": "A delivery ends that is older than this many seconds.",
    "default": DELIVERY.within,
}
Document = Annotated[dict[str, Any], Meta(extra_json_schema=_SCHEMA)]


class PolicySource(StrEnum):
    """Where a policy comes from. The first of these that has a policy decides."""

    ENDPOINT = "endpoint"
    APPLICATION = "application"
    ENVIRONMENT = "environment"
    DEFAULT = "default"


class PolicyOut(Struct):
    """A policy document with all fields, and where the policy comes from."""

    source: PolicySource
    policy: Document


@group.get(ENDPOINT, name="get-of-endpoint")
async def get_of_endpoint(call: Call) -> PolicyOut:
    """Get the policy that an endpoint's deliveries follow."""
    application = await call.application()
    return await _effective(call, application, await call.endpoint(application))


@group.put(ENDPOINT, needs=Need.CHANGE, name="put-of-endpoint")
async def put_of_endpoint(call: Call, body: Document) -> PolicyOut:
    """Set an endpoint's own policy; it applies to waiting deliveries too."""
    application = await call.application()
    endpoint = await call.endpoint(application)
    changed = await call.hooks.change_endpoint(endpoint, policy=_checked(body))
    return await _effective(call, application, changed)


@group.delete(ENDPOINT, needs=Need.CHANGE, name="delete-of-endpoint")
async def delete_of_endpoint(call: Call) -> None:
    """Remove an endpoint's own policy."""
    endpoint = await call.endpoint(await call.application())
    await call.hooks.change_endpoint(endpoint, policy=None)


@group.get(APPLICATION_PATH, name="get-of-application")
async def get_of_application(call: Call) -> PolicyOut:
    """Get the policy of an application's endpoints that have no policy of their own."""
    return await _effective(call, await call.application())


@group.put(APPLICATION_PATH, needs=Need.CHANGE, name="put-of-application")
async def put_of_application(call: Call, body: Document) -> PolicyOut:
    """Set an application's policy, for its endpoints that have no policy of their own."""
    stored = await call.application()
    changed = await applications.changed(call, stored, {"policy": _checked(body)})
    return await _effective(call, changed)


@group.delete(APPLICATION_PATH, needs=Need.CHANGE, name="delete-of-application")
async def delete_of_application(call: Call) -> None:
    """Remove an application's own policy."""
    await applications.changed(call, await call.application(), {"policy": None})


@group.get(ENVIRONMENT, name="get-of-environment")
async def get_of_environment(call: Call) -> PolicyOut:
    """Get the policy of applications and endpoints that have no policy of their own."""
    return await _effective(call)


@group.put(ENVIRONMENT, needs=Need.CHANGE, name="put-of-environment")
async def put_of_environment(call: Call, body: Document) -> PolicyOut:
    """Set the environment's policy, for applications and endpoints without their own.

    It applies to waiting deliveries too.
    """
    await call.hooks.set_policy(_checked(body))
    return await _effective(call)


@group.delete(ENVIRONMENT, needs=Need.CHANGE, name="delete-of-environment")
async def delete_of_environment(call: Call) -> None:
    """Remove the environment's policy."""
    await call.hooks.set_policy(None)


def _checked(body: Document) -> str:
    """Return a policy document as it is stored; Invalid says where it is wrong."""
    document = msgspec.json.encode(body).decode()
    try:
        check_policy(document)
    except PolicyError as error:
        raise Invalid(["body", *error.field.split(".")], str(error)) from error
    return document


async def _effective(
    call: Call, application: Application | None = None, endpoint: Endpoint | None = None
) -> PolicyOut:
    """Return the policy that applies: the endpoint's, application's, environment's or default."""
    documents = {
        PolicySource.ENDPOINT: None if endpoint is None else endpoint.policy,
        PolicySource.APPLICATION: None if application is None else application.policy,
        PolicySource.ENVIRONMENT: (
            await call.hooks.store.get(Environments(), call.caller.environment)
        ).policy,
    }
    for source, document in documents.items():
        if document is not None:
            return _policy_out(source, read_policy(document))
    return _policy_out(PolicySource.DEFAULT, call.hooks.settings.policy)


def _policy_out(source: PolicySource, policy: Policy) -> PolicyOut:
    """Return a policy as a response shows it, with where it comes from."""
    return PolicyOut(source, to_dict(policy))
