"""The TLS settings of connections: which certificates are trusted, and which one is shown.

The check of certificates cannot be turned off: a private authority can be trusted instead.
"""

import ssl
from pathlib import Path

from tarry.errors import SettingsError
from tarry.service.wire.private_file import refuse_exposed


def context(
    *, authorities: Path | None = None, certificate: Path | None = None, key: Path | None = None
) -> ssl.SSLContext:
    """Return a context for TLS 1.2 or newer that always checks the certificate and its name.

    `authorities` are trusted in addition to those of the system. `certificate` (and `key`, if it is
    in a separate file) is shown to endpoints that ask for one. All are PEM files. The one with the
    key must be closed to other users.
    """
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks certificates and names from the start
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    tls.hostname_checks_common_name = False  # only subject alternative names count
    tls.set_alpn_protocols(["http/1.1"])
    tls.load_default_certs()
    if authorities is not None:
        try:
            tls.load_verify_locations(cafile=authorities)
        except OSError as error:  # an SSLError is one, too
            raise SettingsError(
                "authorities", str(authorities), "a PEM file with certificates"
            ) from error
    if certificate is not None:
        try:
            private = key or certificate
            refuse_exposed("certificate", private, private.stat().st_mode)
            tls.load_cert_chain(certificate, key, password=_no_password)
        except OSError as error:
            raise SettingsError(
                "certificate",
                str(certificate),
                "a PEM file with a certificate; its key, without a password, in the same file",
            ) from error
    return tls


def _no_password() -> str:
    """Return no password: otherwise OpenSSL would ask for one at the terminal, and wait."""
    return ""
