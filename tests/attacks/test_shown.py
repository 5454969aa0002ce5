"""A key that may only look reads the values of endpoint headers: it gets their names."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from tarry.cli.commands import tarry
from tarry.service import open_hooks
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.model.key import Scope
from tests.plain_http import PLAIN

NAMES = ("Cookie", "X-Token", "Api-Key", "X-Plain", "Authorization")
CANARY = "canary-7c21"
TENANT = {"read_only": {"readOnly": True}, "resends": {"capabilities": ["CreateAttempts"]}}


@asynccontextmanager
async def served(path: Path) -> AsyncIterator[tuple[httpx.AsyncClient, str, str]]:
    """Serve an endpoint with secret headers; yield a client, a `read` key and a message's id."""
    async with (
        open_hooks(f"sqlite:///{path}") as hooks,
        serving(await make_api(hooks, "admin-key"), "127.0.0.1:0") as url,
        httpx.AsyncClient(base_url=url, **PLAIN) as client,
    ):
        shop = await hooks.application("shop")
        headers = dict.fromkeys(NAMES, CANARY)
        await hooks.add_endpoint(shop, "https://example.com/in", uid="till", headers=headers)
        sent = await hooks.send(shop, "order.paid", {})
        (key, _) = await hooks.make_key([Scope.READ])
        yield client, key, sent.message.id


def paths(document: dict[str, dict[str, object]], message: str) -> list[str]:
    """Return the paths of all operations that read, for the one application and endpoint."""
    names = {"app_id": "shop", "endpoint_id": "till", "msg_id": message}
    reading = [path for path, operations in document.items() if "get" in operations]
    filled = [path.format_map(_Known(names)) for path in reading]
    return [path for path in filled if "{" not in path]


class _Known(dict[str, str]):
    """Names with their values; an unknown name stays in braces."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


def test_no_operation_shows_a_key_that_may_only_look_a_value(tmp_path: Path) -> None:
    async def attack() -> None:
        async with served(tmp_path / "hooks.db") as (client, key, message):
            document = (await client.get("/api/v1/openapi.json")).json()["paths"]
            looking = {"authorization": f"Bearer {key}"}
            answered = 0
            for path in paths(document, message):
                answer = await client.get(path, headers=looking)
                assert CANARY not in answer.text, path
                answered += answer.status_code == 200
            assert answered > 25
            path = "/api/v1/app/shop/endpoint/till/headers"
            shown = (await client.get(path, headers=looking)).json()
            assert shown == {"headers": {}, "sensitive": sorted(NAMES)}

    asyncio.run(attack())


@pytest.mark.parametrize("kind", sorted(TENANT))
def test_a_tenant_without_the_right_to_secrets_sees_names_only(tmp_path: Path, kind: str) -> None:
    async def attack() -> None:
        async with served(tmp_path / "hooks.db") as (client, _, _):
            admin = {"authorization": "Bearer admin-key"}
            path = "/api/v1/auth/app-portal-access/shop"
            access = (await client.post(path, json=TENANT[kind], headers=admin)).json()
            token = {"authorization": f"Bearer {access['token']}"}
            path = "/api/v1/app/shop/endpoint/till/headers"
            shown = (await client.get(path, headers=token)).json()
            assert shown == {"headers": {}, "sensitive": sorted(NAMES)}
            allowed = (await client.get(path, headers=admin)).json()
            assert allowed["headers"]["X-Plain"] == CANARY

    asyncio.run(attack())


def test_the_command_line_shows_names_only(tmp_path: Path) -> None:
    async def attack() -> str:
        async with served(tmp_path / "hooks.db") as (client, key, _):
            environment = {"TARRY_SERVER": str(client.base_url), "TARRY_KEY": key}
            typed = ["endpoint", "headers", "shop", "till"]
            shown = await asyncio.to_thread(CliRunner().invoke, tarry, typed, env=environment)
            assert shown.exit_code == 0, shown.output
            return shown.stdout

    shown = asyncio.run(attack())
    assert "X-Token" in shown
    assert "(not shown)" in shown
    assert CANARY not in shown
