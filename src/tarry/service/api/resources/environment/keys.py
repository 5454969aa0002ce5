"""Operations that create, list and revoke API keys."""

from typing import Annotated

from msgspec import Meta, Struct

from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import CREATED, Group
from tarry.service.api.http.paging import KeyMark, OrderedQuery, Page, cut, page
from tarry.service.api.http.problem import Invalid
from tarry.service.api.http.times import Instant, instant, instant_or_none, seconds
from tarry.service.api.resources.call import Call
from tarry.service.model.key import Key, Scope
from tarry.service.store.kinds import Keys

ENVIRONMENT_SCOPES = (Scope.ADMIN, Scope.WRITE, Scope.READ, Scope.SEND)
"""The scopes of keys to a whole environment."""

Label = Annotated[str, Meta(max_length=256, pattern=r"^[^\x00]*\Z")]
Given = Annotated[Scope, Meta(extra_json_schema={"enum": list(ENVIRONMENT_SCOPES)})]
Scopes = Annotated[tuple[Given, ...], Meta(min_length=1, max_length=len(ENVIRONMENT_SCOPES))]

group = Group("Key", "v1.key")


class KeyIn(Struct, rename="camel", kw_only=True):
    """A key to create."""

    name: Label = ""
    scopes: Scopes = (Scope.WRITE,)
    expires_at: Instant | None = None


class KeyOut(Struct, rename="camel", kw_only=True):
    """A key without its text, which is the secret part."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None


class NewKeyOut(KeyOut, kw_only=True):
    """A new key with its text, which is shown only this once."""

    key: str


@group.post("/key", needs=Need.KEYS, status=CREATED, secret=True)
async def create(call: Call, body: KeyIn) -> NewKeyOut:
    """Create a key to the environment; only this response shows its text."""
    for scope in body.scopes:
        if scope not in ENVIRONMENT_SCOPES:
            raise Invalid(
                ["body", "scopes"], f"{scope!s} is not one of {', '.join(ENVIRONMENT_SCOPES)}"
            )
    expires_at = seconds(body.expires_at)
    if expires_at is not None and expires_at <= call.now:
        raise Invalid(["body", "expiresAt"], "it must be in the future")
    text, key = await call.hooks.make_key(body.scopes, name=body.name, expires_at=expires_at)
    return NewKeyOut(
        key=text,
        id=key.id,
        name=key.name,
        scopes=key.scopes,
        created_at=instant(key.created_at),
        expires_at=instant_or_none(key.expires_at),
        revoked_at=None,
    )


class KeyQuery(OrderedQuery, kw_only=True):
    """The page of the list, and its order."""

    iterator: KeyMark | None = None


@group.get("/key", needs=Need.KEYS, name="list")
async def list_keys(call: Call, query: KeyQuery) -> Page[KeyOut]:
    """List the environment's keys without their texts."""
    keys = (await call.hooks.store.page(Keys(call.caller.environment), cut(query))).entries
    return page(keys, query, key_out, lambda key: key.id)


@group.delete("/key/{key_id}", needs=Need.KEYS)
async def revoke(call: Call) -> None:
    """Revoke a key; it stops working within a second."""
    await call.hooks.revoke_key(call.name("key_id", "key"))


def key_out(key: Key) -> KeyOut:
    """Return a key as a response shows it."""
    return KeyOut(
        id=key.id,
        name=key.name,
        scopes=key.scopes,
        created_at=instant(key.created_at),
        expires_at=instant_or_none(key.expires_at),
        revoked_at=instant_or_none(key.revoked_at),
    )
