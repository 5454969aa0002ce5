"""What a lane needs to make requests, and what it has instead if its endpoint cannot be called."""

import msgspec
import pytest
from msgspec.structs import replace

from tarry.core.outcome import Kind
from tarry.core.policy import Policy
from tarry.core.text import from_json, to_json
from tarry.errors import SealError
from tarry.receive.verify import Verifier
from tarry.service.dispatch.lane.config import (
    LaneConfig,
    config,
    opened_headers,
    opened_secrets,
    place,
    version_of,
)
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint, Secret
from tarry.service.model.lane import LaneRow
from tarry.service.model.settings import DELIVERY
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import TIMEOUT
from tarry.service.wire.seal import Seals, generate_key
from tarry.testing.samples import NOON, an_application, an_endpoint

SEALS = Seals.of(generate_key("test"))
SECRET = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"  # noqa: S105  made up
OLDER = "whsec_b2xkZXIgb2xkZXIgb2xkZXIgb2xkZXIgb2xk"
APPLICATION = an_application()


def secret(endpoint: Endpoint, text: str, expires_at: float | None = None) -> Secret:
    return Secret(SEALS.seal(text.encode(), place(endpoint, "secret")), expires_at)


def with_secret(**values: object) -> Endpoint:
    endpoint = an_endpoint(APPLICATION, lane=7, **values)
    return replace(endpoint, secrets=(secret(endpoint, SECRET),))


def fitted(
    endpoint: Endpoint,
    *,
    application: Application = APPLICATION,
    environment: str | None = None,
    seals: Seals = SEALS,
) -> LaneConfig:
    row = LaneRow(endpoint=endpoint, application=application)
    return config(row, seals=seals, egress=Egress.of(), fallback=DELIVERY, environment=environment)


def named(name: str) -> str:
    return to_json(Policy(name=name))


def test_an_endpoint_is_called_where_its_url_says_with_its_owner_s_headers() -> None:
    endpoint = with_secret(url="https://Hooks.example:8443/in?a=1")
    headers = msgspec.json.encode([("x-team", "billing")])
    sealed = replace(endpoint, headers=SEALS.seal(headers, place(endpoint, "headers")))
    found = fitted(sealed)
    assert found.target is not None
    assert found.target.origin == ("https", "hooks.example", 8443)
    assert found.target.path == "/in?a=1"
    assert found.target.headers == (("x-team", "billing"),)
    assert found.target.owner == endpoint.application
    assert found.origin == "https://hooks.example:8443"


def test_a_port_that_goes_without_saying_is_part_of_the_origin_all_the_same() -> None:
    spelled = fitted(with_secret(url="https://hooks.example:443/other"))
    assert fitted(with_secret()).origin == spelled.origin == "https://hooks.example:443"


def test_messages_are_signed_with_the_endpoint_s_secret() -> None:
    found = fitted(with_secret())
    headers = dict(found.signer.headers("msg_1", 1, b"{}", now=NOON))
    assert Verifier.of(SECRET).verify(b"{}", headers, now=NOON).id == "msg_1"


@pytest.mark.parametrize(
    ("own", "applications", "environments", "name"),
    [
        (None, None, None, "delivery"),
        (None, None, "environment", "environment"),
        (None, "application", "environment", "application"),
        ("endpoint", "application", "environment", "endpoint"),
        ("endpoint", None, None, "endpoint"),
    ],
)
def test_the_nearest_policy_counts(
    own: str | None, applications: str | None, environments: str | None, name: str
) -> None:
    documents = [None if one is None else named(one) for one in (own, applications, environments)]
    found = fitted(
        with_secret(policy=documents[0]),
        application=an_application(policy=documents[1]),
        environment=documents[2],
    )
    assert found.policy.name == name
    assert from_json(found.document) == found.policy
    assert found.version == version_of(found.document)


def test_two_policies_have_the_same_version_if_they_say_the_same() -> None:
    spaced = named("a").replace(":", " : ")
    versions = [fitted(with_secret(policy=one)).version for one in (named("a"), spaced, named("b"))]
    assert versions[0] == versions[1] != versions[2]


def test_an_attempt_takes_as_long_as_the_policy_says_or_as_usual() -> None:
    hurried = to_json(Policy(attempt_timeout=3))
    patient = to_json(Policy())
    assert fitted(with_secret(policy=hurried)).timeout == 3
    assert fitted(with_secret(policy=patient)).timeout == TIMEOUT


def test_an_address_that_is_not_allowed_says_by_which_rule_and_not_which_address() -> None:
    found = fitted(with_secret(url="https://127.0.0.1/in"))
    assert (found.target, found.secrets) == (None, ())
    assert (found.refused.failure, found.refused.took) == (Kind.BLOCKED, 0.0)
    assert found.refused.detail
    assert "127.0.0.1" not in found.refused.detail


@pytest.mark.parametrize("url", ["ftp://hooks.example/in", "nonsense", "https://"])
def test_a_url_that_cannot_be_called_is_refused_with_its_reason(url: str) -> None:
    found = fitted(with_secret(url=url))
    assert found.target is None
    assert found.refused.failure in {Kind.BLOCKED, Kind.REFUSED}
    assert found.refused.detail
    assert found.origin == url


def test_a_policy_that_cannot_be_read_stops_the_endpoint_and_says_why() -> None:
    found = fitted(with_secret(policy='{"attempts": -1}'))
    assert (found.target, found.refused.failure) == (None, Kind.REFUSED)
    assert found.refused.detail
    assert found.policy == DELIVERY
    assert found.refused.took == 0.0  # no request was made


def test_secrets_that_do_not_open_stop_the_endpoint() -> None:
    found = fitted(with_secret(), seals=Seals.of(generate_key("other")))
    assert (found.target, found.secrets, found.refused.failure) == (None, (), Kind.REFUSED)
    assert found.refused.took == 0.0
    assert "sealed with the key 'test'" in found.refused.detail


def test_an_endpoint_without_a_secret_cannot_be_signed_for() -> None:
    found = fitted(an_endpoint(APPLICATION))
    assert (found.target, found.refused.failure) == (None, Kind.REFUSED)


def test_secrets_are_opened_the_newest_first_each_with_its_end() -> None:
    endpoint = an_endpoint(APPLICATION)
    both = (secret(endpoint, SECRET), secret(endpoint, OLDER, NOON + 60))
    found = opened_secrets(replace(endpoint, secrets=both), SEALS)
    assert found == ((SECRET, None), (OLDER, NOON + 60))


def test_headers_that_were_not_set_are_none() -> None:
    assert opened_headers(an_endpoint(APPLICATION), SEALS) == ()


def test_what_is_sealed_opens_for_its_endpoint_and_column_alone() -> None:
    endpoint, other = an_endpoint(APPLICATION), an_endpoint(APPLICATION)
    stolen = replace(other, secrets=(secret(endpoint, SECRET),))
    with pytest.raises(SealError):
        opened_secrets(stolen, SEALS)
    swapped = replace(endpoint, headers=SEALS.seal(b"[]", place(endpoint, "secret")))
    with pytest.raises(SealError):
        opened_headers(swapped, SEALS)
