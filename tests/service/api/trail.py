"""Reads the audit trail as a client does."""

import httpx

from tarry.service.api.openapi.document import Json

Entry = Json


async def trail(client: httpx.AsyncClient, **query: str | int) -> list[Entry]:
    """The newest entries that fit a query; `client` has the key."""
    answer = await client.get("/api/v1/audit", params=query)
    assert answer.status_code == 200, answer.text
    entries: list[Entry] = answer.json()["data"]
    return entries
