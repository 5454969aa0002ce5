import ssl
import warnings
from threading import Thread

from cryptography import x509

from tarry.testing.zoo.certificates import Certificate, authority, context


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> str | None:
    """Run a handshake in memory, and return the TLS version that both agreed on."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_side = client.wrap_bio(down, up, server_hostname="localhost")
    server_side = server.wrap_bio(up, down, server_side=True)
    for _ in range(4):
        for side in (client_side, server_side):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return client_side.version()


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority().pem.decode())


def test_the_good_one_is_trusted_by_who_trusts_the_authority() -> None:
    assert handshake(context(Certificate.GOOD), trusting()) == "TLSv1.3"


def test_the_old_version_is_spoken_with_who_does_not_mind() -> None:
    careless = trusting()
    careless.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        careless.minimum_version = ssl.TLSVersion.TLSv1_1
    assert handshake(context(Certificate.OLD_VERSION), careless) == "TLSv1.1"


def test_an_authority_is_made_once_even_by_many_threads() -> None:
    certificates: list[bytes] = []
    threads = [
        Thread(target=lambda: certificates.append(authority("crowded").pem)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(certificates)) == 1


def test_the_authority_may_sign() -> None:
    constraints = authority().certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.value.ca
