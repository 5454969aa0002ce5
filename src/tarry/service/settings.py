"""The settings of a service, as `open_hooks` takes them by name."""

from pathlib import Path

from msgspec import Struct

from tarry.core.policy import Policy
from tarry.service.dispatch.upkeep.upkeep import Kept
from tarry.service.model.settings import DELIVERY, Limits, Parking
from tarry.service.model.sizes import SIZES, Sizes
from tarry.service.wire.egress import PORTS


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of a service; the defaults suit one machine.

    `allow_network` lists private networks that may be called. Requests go through an egress
    `proxy` if there is one. `authorities` (a PEM file) are trusted in addition to the system's;
    `certificate` is shown to endpoints that ask for one, with its key in the same file.
    `sealing_keys` is a list of keys as `Seals.of` reads it; without it, a key file next to an
    SQLite database is created and used. With `seal_payloads`, payloads and responses are stored
    sealed.
    """

    db: str
    sealing_keys: str | None = None
    seal_payloads: bool = False
    allow_network: tuple[str, ...] = ()
    ports: str = PORTS
    own: tuple[str, ...] = ()
    """Addresses of this service itself, like `127.0.0.1:8400`, which it must not call."""
    proxy: str | None = None
    authorities: Path | None = None
    certificate: Path | None = None
    most_waiting: int | None = None
    """The most waiting deliveries of an application without its own limit; None for no limit."""
    disk_reserve: int | None = None
    """Free bytes on an SQLite file's disk below which no messages are accepted; 0 for no limit. The
    default is 256 MB, or a twentieth of a smaller disk."""
    redact: tuple[str, ...] = ()
    """Rules for what the HTTP API never shows, as `Redaction.of` reads them."""
    sizes: Sizes = SIZES
    policy: Policy = DELIVERY
    limits: Limits = Limits()
    parking: Parking = Parking()
    kept: Kept = Kept()
