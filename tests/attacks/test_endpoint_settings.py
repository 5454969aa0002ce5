"""What a tenant sets for an endpoint can neither hold slots for years nor open a metadata service.

| attack | before | after |
|---|---|---|
| a policy with `attempt_timeout` of 1e9 s, which never lets a slot go | 200 | 422: 120 at most |
| an endpoint with `Metadata: true`, which opens the metadata service of a cloud | 201 | 422 |
"""

import httpx
import pytest

pytestmark = pytest.mark.anyio

ENDPOINTS = "/api/v1/app/shop/endpoint"
POLICIES = ("/api/v1/app/shop/policy", "/api/v1/environment/policy")


async def endpoint_path(client: httpx.AsyncClient) -> str:
    return f"{ENDPOINTS}/{(await client.get(ENDPOINTS)).json()['data'][0]['id']}"


@pytest.mark.parametrize("seconds", [121, 1e9])
async def test_an_attempt_that_never_ends_is_refused_everywhere(
    client: httpx.AsyncClient, seconds: float
) -> None:
    for path in (*POLICIES, f"{await endpoint_path(client)}/policy"):
        answer = await client.put(path, json={"attempt_timeout": seconds})
        assert answer.status_code == 422
        (refused,) = answer.json()["detail"]
        assert refused["loc"] == ["body", "attempt_timeout"]
        assert "up to 120" in refused["msg"]
        assert (await client.put(path, json={"attempt_timeout": 120})).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "Metadata",  # Azure
        "metadata",
        "Metadata-Flavor",  # Google, IBM
        "X-Google-Metadata-Request",
        "X-aws-ec2-metadata-token",
        "X-aws-ec2-metadata-token-ttl-seconds",
        "X-aws_ec2_metadata_token",
        "X-aliyun-ecs-metadata-token",
    ],
)
async def test_a_header_that_opens_a_metadata_service_is_refused(
    client: httpx.AsyncClient, name: str
) -> None:
    headers, path = {name: "true"}, await endpoint_path(client)
    made = await client.post(ENDPOINTS, json={"url": "https://example.com", "headers": headers})
    put = await client.put(f"{path}/headers", json={"headers": headers})
    patched = await client.patch(f"{path}/headers", json={"headers": headers})
    assert [answer.status_code for answer in (made, put, patched)] == [422] * 3
