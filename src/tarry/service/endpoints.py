"""Endpoints and their secrets, for programs that embed the service."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from typing import Self, Unpack

import msgspec
from msgspec.structs import replace

from tarry.errors import NotFound, SealError, SettingsError
from tarry.service.fields import EndpointFields, check_seconds, checked_endpoint
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.audit import Action
from tarry.service.model.endpoint import Endpoint, Secret
from tarry.service.model.lane import Noting
from tarry.service.model.task import Task
from tarry.service.settings import Settings
from tarry.service.store import kinds
from tarry.service.store.contract import Store
from tarry.service.wire.egress import Egress
from tarry.service.wire.seal import Seals, opened_headers, opened_secrets, place, place_of_data_key
from tarry.service.wire.secret import check_secret, generate_shared
from tarry.service.wire.sign import check_headers

GRACE = 86_400.0
"""Seconds that an old secret still signs requests after a rotation."""
MOST_OLD_SECRETS = 10
OLD_SECRETS = "old secrets"
"""The name of the field in the SettingsError for too many old secrets."""


class Endpoints:
    """The part of `Hooks` about endpoints.

    An endpoint argument only says which endpoint is meant; it may be an old copy. Methods change
    the endpoint as it is stored by then, and only the given fields.
    """

    settings: Settings
    store: Store
    seals: Seals
    egress: Egress
    _now: Callable[[], float]
    _chance: Callable[[int], bytes]
    by: Callable[[str], Action]
    _noting: Noting | None = None

    def noting(self, noting: Noting) -> Self:
        """Return a copy that saves these notices when it changes endpoints."""
        other = copy(self)
        other._noting = noting  # noqa: SLF001  its own
        return other

    def new_id(self, prefix: str) -> str:
        """Return a new id: the prefix, the present time and random characters."""
        return ids.make(prefix, now=self._now(), entropy=self._chance(ids.CHANCE))

    async def add_endpoint(
        self,
        application: Application,
        url: str,
        *,
        secret: str | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Unpack[EndpointFields],
    ) -> Endpoint:
        """Send an application's messages to a URL; EgressRefused if it must not be called.

        TooManyEndpoints if the application has as many as it may (`Sizes.endpoints`).
        """
        self.egress.target(url)
        sizes = self.settings.sizes
        checked, now = checked_endpoint(fields, sizes), self._now()
        endpoint = Endpoint(
            id=self.new_id(ids.ENDPOINT),
            application=application.id,
            url=url,
            created_at=now,
            updated_at=now,
            **checked,
        )
        sealed_secrets = (Secret(self._sealed(endpoint, secret)),)
        sealed = self._sealed_headers(endpoint, headers or {})
        return await self.store.put(
            replace(endpoint, secrets=sealed_secrets, headers=sealed),
            by=self.by("add_endpoint"),
            noting=self._noting,
            most=sizes.endpoints,
        )

    async def change_endpoint(
        self,
        endpoint: Endpoint,
        *,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Unpack[EndpointFields],
    ) -> Endpoint:
        """Change the given fields of an endpoint; they apply to waiting deliveries too.

        When a disabled, parked or paused endpoint is enabled, its waiting deliveries are sent at a
        pace. NotFound if it is deleted.
        """
        changes, now = checked_endpoint(fields, self.settings.sizes), self._now()
        if url is not None:
            self.egress.target(url)
            changes["url"] = url
        if headers is not None:
            changes["headers"] = self._sealed_headers(endpoint, headers)
        return await self.store.change(
            kinds.Endpoints(endpoint.application),
            endpoint.id,
            lambda stored: replace(stored, updated_at=now, **changes),
            by=self.by("change_endpoint"),
            noting=self._noting,
        )

    async def probe(self, endpoint: Endpoint) -> Endpoint:
        """Request a probe of a failing endpoint at once, with its first waiting delivery."""
        now = self._now()
        return await self.store.change(
            kinds.Endpoints(endpoint.application),
            endpoint.id,
            lambda stored: replace(stored, probed_at=now),
            by=self.by("probe"),
        )

    async def delete_endpoint(self, endpoint: Endpoint) -> Task:
        """Send nothing more to an endpoint; its waiting deliveries are discarded, piece by piece.

        Its secrets, headers and metadata are deleted. NotFound if it is deleted already.
        """
        (discarding,) = await self.store.delete(
            kinds.Endpoints(endpoint.application),
            endpoint.id,
            now=self._now(),
            by=self.by("delete_endpoint"),
            noting=self._noting,
        )
        return discarding

    async def rotate_secret(
        self, endpoint: Endpoint, secret: str | None = None, *, grace: float = GRACE
    ) -> Endpoint:
        """Sign with a new secret, and until `grace` seconds from now with the old ones as well."""
        check_seconds("grace", grace, least=0)
        now, sealed = self._now(), self._sealed(endpoint, secret)

        def with_new_secret(stored: Endpoint) -> Endpoint:
            secrets = (Secret(sealed), *_still_signing(stored.secrets, now, grace))
            return replace(stored, secrets=secrets, updated_at=now)

        return await self.store.change(
            kinds.Endpoints(endpoint.application),
            endpoint.id,
            with_new_secret,
            by=self.by("rotate_secret"),
            noting=self._noting,
        )

    def secret(self, endpoint: Endpoint) -> str:
        """Return the secret with which an endpoint's receiver verifies requests."""
        return opened_secrets(endpoint, self.seals)[0][0]

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the headers that an endpoint's owner set."""
        return dict(opened_headers(endpoint, self.seals))

    async def patch_headers(
        self, endpoint: Endpoint, headers: Mapping[str, str | None]
    ) -> Endpoint:
        """Set some of an endpoint's headers, in any case; None removes a header."""
        now, named = self._now(), {name.lower() for name in headers}
        set_headers = {name: value for name, value in headers.items() if value is not None}
        check_headers((name, value or "") for name, value in headers.items())

        def with_headers(stored: Endpoint) -> Endpoint:
            others = {
                name: value
                for name, value in self.headers(stored).items()
                if name.lower() not in named
            }
            sealed = self._sealed_headers(stored, {**others, **set_headers})
            return replace(stored, headers=sealed, updated_at=now)

        return await self.store.change(
            kinds.Endpoints(endpoint.application),
            endpoint.id,
            with_headers,
            by=self.by("patch_headers"),
            noting=self._noting,
        )

    async def reseal_endpoints(self) -> int:
        """Seal the secrets of all endpoints with the newest key; return how many were changed."""
        after, count = "", 0
        while page := await self.store.read(kinds.SealedEndpoints(after=after)):
            for endpoint in filter(self._needs_resealing, page):
                with suppress(NotFound):  # it was deleted meanwhile, and has no secrets now
                    await self.store.change(
                        kinds.Endpoints(endpoint.application), endpoint.id, self._resealed
                    )
                    count += 1
            after = page[-1].id
        return count

    async def refuse_other_keys(self) -> None:
        """Raise if the sealing keys open no stored secret: then no request could be signed."""
        why: SealError | None = None
        sealed = [
            (secret.sealed, place(endpoint, "secret"))
            for endpoint in await self.store.read(kinds.SealedEndpoints())
            for secret in endpoint.secrets
        ]
        sealed += [
            (data_key.sealed, place_of_data_key(data_key))
            for data_key in await self.store.read(kinds.DataKeys())
        ]
        for value, place_of_value in sealed:
            try:
                self.seals.open(value, place_of_value)
            except SealError as error:
                why = why or error
            else:
                return
        if why is not None:
            wanted = (
                "the keys of this database, in TARRY_SEALING_KEYS, in sealing_keys of open_hooks or"
                f" in the key file: {why}"
            )
            raise SettingsError("sealing keys", "the keys of another database", wanted)

    def _needs_resealing(self, endpoint: Endpoint) -> bool:
        sealed = [secret.sealed for secret in endpoint.secrets]
        sealed += [] if endpoint.headers is None else [endpoint.headers]
        return any(map(self.seals.needs_resealing, sealed))

    def _resealed(self, stored: Endpoint) -> Endpoint:
        """Return an endpoint with its secrets and headers sealed with the newest key."""

        def seal_again(sealed: bytes, column: str) -> bytes:
            place_of_secret = place(stored, column)
            return self.seals.seal(self.seals.open(sealed, place_of_secret), place_of_secret)

        secrets = tuple(
            replace(secret, sealed=seal_again(secret.sealed, "secret")) for secret in stored.secrets
        )
        headers = None if stored.headers is None else seal_again(stored.headers, "headers")
        return replace(stored, secrets=secrets, headers=headers)

    def _sealed(self, endpoint: Endpoint, secret: str | None) -> bytes:
        checked = check_secret(secret or generate_shared())
        return self.seals.seal(checked.encode("ascii"), place(endpoint, "secret"))

    def _sealed_headers(self, endpoint: Endpoint, headers: Mapping[str, str]) -> bytes | None:
        """Check an endpoint's headers and return them sealed; None if there are none."""
        checked = check_headers(headers.items())
        if not checked:
            return None
        return self.seals.seal(msgspec.json.encode(checked), place(endpoint, "headers"))


def _still_signing(secrets: tuple[Secret, ...], now: float, grace: float) -> list[Secret]:
    """Return the old secrets that still sign requests after a rotation."""
    alive = [old for old in secrets if old.expires_at is None or old.expires_at > now]
    if len(alive) > MOST_OLD_SECRETS:
        wanted = f"at most {MOST_OLD_SECRETS} whose grace period lasts: wait for one to end"
        raise SettingsError(OLD_SECRETS, len(alive), wanted)
    return [
        Secret(secret.sealed, now + grace) if secret.expires_at is None else secret
        for secret in alive
        if grace > 0 or secret.expires_at is not None
    ]
