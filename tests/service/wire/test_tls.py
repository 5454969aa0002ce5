import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)

from tarry.errors import SettingsError
from tarry.service.wire import tls
from tarry.testing.zoo import authority


def test_certificates_and_names_are_checked_and_old_versions_are_not_spoken() -> None:
    made = tls.context()
    assert made.verify_mode is ssl.CERT_REQUIRED
    assert made.check_hostname
    assert not made.hostname_checks_common_name
    assert made.minimum_version is ssl.TLSVersion.TLSv1_2


def test_an_authority_is_trusted_beside_those_of_the_system(tmp_path: Path) -> None:
    file = tmp_path / "authority.pem"
    file.write_bytes(authority().pem)
    before = tls.context().cert_store_stats()["x509_ca"]
    assert tls.context(authorities=file).cert_store_stats()["x509_ca"] == before + 1


@pytest.mark.parametrize("content", [None, b"", b"nonsense"])
def test_a_file_that_is_no_certificate_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "a.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match=r"authorities.*a\.pem"):
        tls.context(authorities=file)
    with pytest.raises(SettingsError, match=r"certificate.*a\.pem"):
        tls.context(certificate=file)


def test_a_key_with_a_password_is_refused_and_not_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "a.pem"
    locked = BestAvailableEncryption(b"secret")
    key = authority().key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked)
    file.touch(0o600)
    file.write_bytes(authority().pem + key)
    with pytest.raises(SettingsError, match="without a password"):
        tls.context(certificate=file)
