"""What a lane needs to make requests: the target, the signing secrets and the policy.

It is built when a lane is loaded and whenever its endpoint changes, not for every attempt.
"""

import hashlib
from functools import lru_cache
from sys import intern

import msgspec
from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.core.policy import Policy
from tarry.core.text import to_json
from tarry.errors import EgressRefused, PolicyError, SealError, SettingsError
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import LaneRow
from tarry.service.model.policy import read_policy
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import TIMEOUT, Answer, Headers, Target
from tarry.service.wire.seal import Place, Seals
from tarry.service.wire.sign import Signer
from tarry.service.wire.url import origin_of

MOST_POLICIES = 1_000
"""How many policies are cached, each with its document and in parsed form."""
MOST_SIGNERS = 2_000
"""How many endpoints have their secrets cached ready for signing, a kilobyte each."""

Secrets = tuple[tuple[str, float | None], ...]
"""Secrets, the newest first, each with the end of its grace period."""


class LaneConfig(Struct, frozen=True, gc=False):  # it holds only values: no cycle
    """A lane's config. Without a target nothing is sent, and every attempt ends as `refused`."""

    policy: Policy
    document: str
    version: str
    origin: str
    timeout: float
    target: Target | None = None
    secrets: Secrets = ()
    refused: Answer = Answer(0.0)

    @property
    def signer(self) -> Signer:
        """The signer of its messages."""
        return _signer(self.secrets)


def config(
    row: LaneRow, *, seals: Seals, egress: Egress, fallback: Policy, environment: str | None
) -> LaneConfig:
    """Return the config of a lane; for an endpoint that cannot be called it says why."""
    endpoint = row.endpoint
    refused: Answer | None = None
    try:
        policy = _policy(endpoint.policy or row.application.policy or environment, fallback)
    except PolicyError as error:
        policy, refused = fallback, Answer(0.0, failure=Kind.REFUSED, detail=str(error))
    target: Target | None = None
    secrets: Secrets = ()
    try:
        owner = intern(endpoint.application)  # the lane keeps this very string
        target = egress.target(endpoint.url, opened_headers(endpoint, seals), owner=owner)
        secrets = opened_secrets(endpoint, seals)
        _signer(secrets)  # raises an error now if one of them cannot be used
    except EgressRefused as error:
        refused = Answer(0.0, failure=Kind.BLOCKED, detail=error.rule)
    except (SettingsError, SealError) as error:
        refused = Answer(0.0, failure=Kind.REFUSED, detail=str(error))
    document, version = _written(policy)
    timeout = policy.attempt_timeout or TIMEOUT
    if refused is not None or target is None:
        said = refused or Answer(0.0, failure=Kind.REFUSED)
        return LaneConfig(policy, document, version, endpoint.url, timeout, refused=said)
    return LaneConfig(policy, document, version, origin_of(endpoint.url), timeout, target, secrets)


def version_of(document: str) -> str:
    """Return a policy's version: a hash of its document."""
    return hashlib.sha256(document.encode()).hexdigest()[:16]


def _policy(document: str | None, fallback: Policy) -> Policy:
    return fallback if document is None else _read(document)


@lru_cache(MOST_SIGNERS)
def _signer(secrets: Secrets) -> Signer:
    return Signer.of(secrets)


@lru_cache(MOST_POLICIES)
def _read(document: str) -> Policy:
    return read_policy(document)


@lru_cache(MOST_POLICIES)
def _written(policy: Policy) -> tuple[str, str]:
    """Return a policy's document and version, cached since thousands of lanes share a policy."""
    document = to_json(policy)
    return document, version_of(document)


def opened_headers(endpoint: Endpoint, seals: Seals) -> Headers:
    """Return the headers that an endpoint's owner set, unsealed."""
    if endpoint.headers is None:
        return ()
    opened = seals.open(endpoint.headers, place(endpoint, "headers"))
    return msgspec.json.decode(opened, type=Headers)


def opened_secrets(endpoint: Endpoint, seals: Seals) -> Secrets:
    """Return an endpoint's signing secrets, unsealed."""
    where = place(endpoint, "secret")
    return tuple(
        (seals.open(secret.sealed, where).decode("ascii"), secret.expires_at)
        for secret in endpoint.secrets
    )


def place(endpoint: Endpoint, column: str) -> Place:
    """Return the place of a sealed value: it can be opened only for that place."""
    return Place(endpoint.application, endpoint.id, column)
