"""Certificates, good and bad, from an authority that each process creates anew."""

import ssl
import warnings
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

HOST = "localhost"
ADDRESS = "127.0.0.1"
DAY = timedelta(days=1)


class Certificate(Enum):
    """The certificate that a receiver presents in a handshake."""

    GOOD = "good"
    EXPIRED = "that has expired"
    NOT_YET = "that is not valid yet"
    WRONG_NAME = "for another name"
    SELF_SIGNED = "signed by itself"
    UNKNOWN_AUTHORITY = "by an unknown authority"
    NOT_AN_AUTHORITY = "signed with one that may not sign"
    OLD_VERSION = "that is good, but speaks TLS 1.1 at most"
    WANTS_ONE_TOO = "that is good, but asks for one of the sender's"


class Signer(NamedTuple):
    """A key, and the certificate that it signs with."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> bytes:
        """The certificate in PEM format."""
        return self.certificate.public_bytes(Encoding.PEM)


def authority(name: str = "the zoo") -> Signer:
    """Return an authority; senders under test must trust the one of the zoo."""
    with _making:
        return _authority(name)


def context(certificate: Certificate) -> ssl.SSLContext:
    """Return the TLS settings of a receiver that presents this certificate."""
    with _making:
        return _context(certificate)


_making = RLock()  # a cache alone would let two threads create the same authority twice


@cache
def _authority(name: str) -> Signer:
    return _new_signer(name, by=None, may_sign=True, alternatives=())


@cache
def _context(certificate: Certificate) -> ssl.SSLContext:
    """Return the TLS settings of a server that shows this certificate."""
    chain = _chain(certificate)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    key = chain[0].key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with TemporaryDirectory() as folder:  # ssl loads them only from a file
        file = Path(folder, "chain.pem")
        file.write_bytes(key + b"".join(link.pem for link in chain))
        tls.load_cert_chain(file)
    if certificate is Certificate.OLD_VERSION:
        tls.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            tls.minimum_version = tls.maximum_version = ssl.TLSVersion.TLSv1_1
    if certificate is Certificate.WANTS_ONE_TOO:
        tls.verify_mode = ssl.CERT_REQUIRED
        tls.load_verify_locations(cadata=authority().pem.decode())
    return tls


def _chain(certificate: Certificate) -> tuple[Signer, ...]:  # noqa: PLR0911  one return per certificate
    """Return the certificate, and the intermediate ones between it and the authority."""
    zoo = authority()
    match certificate:
        case Certificate.EXPIRED:
            return (_new_signer(HOST, by=zoo, since=-2 * DAY, until=-DAY),)
        case Certificate.NOT_YET:
            return (_new_signer(HOST, by=zoo, since=DAY, until=2 * DAY),)
        case Certificate.WRONG_NAME:
            return (_new_signer("elsewhere.test", by=zoo, alternatives=("elsewhere.test",)),)
        case Certificate.SELF_SIGNED:
            return (_new_signer(HOST, by=None),)
        case Certificate.UNKNOWN_AUTHORITY:
            return (_new_signer(HOST, by=authority("somebody else")),)
        case Certificate.NOT_AN_AUTHORITY:
            between = _new_signer("a mere server", by=zoo)
            return _new_signer(HOST, by=between), between
        case _:
            return (_new_signer(HOST, by=zoo),)


def _new_signer(  # noqa: PLR0913  one argument per possible fault
    name: str,
    *,
    by: Signer | None,
    since: timedelta = -DAY,
    until: timedelta = DAY,
    alternatives: tuple[str, ...] = (HOST, ADDRESS),
    may_sign: bool = False,
) -> Signer:
    """Create a key and a certificate for it, signed by another signer or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + since)
        .not_valid_after(now + until)
        .add_extension(x509.BasicConstraints(ca=may_sign, path_length=None), critical=True)
        .add_extension(_key_usage(may_sign=may_sign), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(
                (by.key if by else key).public_key()
            ),
            critical=False,
        )
    )
    if alternatives:
        names = [_alternative(name) for name in alternatives]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return Signer(key, builder.sign(by.key if by else key, SHA256()))


def _key_usage(*, may_sign: bool) -> x509.KeyUsage:
    """Return the purposes of a key; the strict checks of Python 3.13 demand them of authorities."""
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=may_sign,
        crl_sign=may_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(name: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(name)) if name == ADDRESS else x509.DNSName(name)
