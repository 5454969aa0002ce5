import base64
import errno
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.errors import SealError, SettingsError
from tarry.service.model.endpoint import Endpoint, Secret
from tarry.service.wire.seal import (
    Place,
    Seals,
    generate_key,
    key_file,
    opened_headers,
    opened_secrets,
    place,
)
from tarry.testing.samples import NOON, an_application, an_endpoint

PLACE = Place("app_1", "ep_1", "secret")
OLD, NEW = ("2025", b"o" * 32), ("2026", b"n" * 32)
WANTED = "a list of 'id:base64', the newest first, each key 32 random bytes"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
places = st.builds(Place, texts, texts, texts)


def written(*keys: tuple[str, bytes]) -> str:
    return " ".join(f"{name}:{base64.b64encode(key).decode()}" for name, key in keys)


def refusal(keys: str) -> SettingsError:
    with pytest.raises(SettingsError) as refused:
        Seals.of(keys)
    return refused.value


@given(secret=st.binary(max_size=300), place=places)
def test_what_is_sealed_for_a_place_opens_there(secret: bytes, place: Place) -> None:
    seals = Seals([NEW])
    assert seals.open(seals.seal(secret, place), place) == secret


@given(secret=st.binary(max_size=50), place=places, other=places)
def test_it_opens_nowhere_else(secret: bytes, place: Place, other: Place) -> None:
    assume(place != other)
    seals = Seals([NEW])
    with pytest.raises(SealError):
        seals.open(seals.seal(secret, place), other)


@given(text=texts, cuts=st.tuples(*[st.integers(0, 20)] * 4))
def test_where_a_tenant_ends_and_a_row_begins_makes_a_difference(
    text: str, cuts: tuple[int, ...]
) -> None:
    here, there = (Place(text[:a], text[a:b], text[b:]) for a, b in (cuts[:2], cuts[2:]))
    assume(here != there)
    seals = Seals([NEW])
    with pytest.raises(SealError):
        seals.open(seals.seal(b"secret", here), there)


@given(place=st.integers(0, 200), bit=st.integers(0, 7))
def test_a_change_of_any_bit_is_noticed(place: int, bit: int) -> None:
    seals = Seals([NEW, OLD])
    sealed = bytearray(seals.seal(b"a secret", PLACE))
    sealed[place % len(sealed)] ^= 1 << bit
    with pytest.raises(SealError):
        seals.open(bytes(sealed), PLACE)


def test_half_a_sealed_secret_does_not_open() -> None:
    seals = Seals([NEW])
    sealed = seals.seal(b"secret", PLACE)
    for end in range(len(sealed)):
        with pytest.raises(SealError):
            seals.open(sealed[:end], PLACE)
    with pytest.raises(SealError):
        seals.open(sealed + b"\0", PLACE)


@given(anything=st.binary(max_size=100))
def test_whatever_is_opened_gives_a_secret_or_a_seal_error(anything: bytes) -> None:
    for blob in (anything, b"\1" + anything, b"\1\x042026" + anything):
        with pytest.raises(SealError):
            Seals([NEW]).open(blob, PLACE)


def test_what_is_no_sealed_secret_is_told() -> None:
    for blob in (b"", b"\1", b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b"\1\x042026" + bytes(27)):
        said = f"these {len(blob)} bytes are not a secret that tarry sealed"
        with pytest.raises(SealError) as refused:
            Seals([NEW]).open(blob, PLACE)
        assert str(refused.value) == said
        with pytest.raises(SealError) as refused:
            Seals([NEW]).needs_resealing(blob)
        assert str(refused.value) == said


def test_the_form_of_what_is_sealed_stays_what_it_is() -> None:
    # Databases are full of these: form, length of the key's id, id, nonce, then AES-256-GCM.
    sealed = Seals([NEW]).seal(b"secret", PLACE)
    assert sealed[:6] == b"\1\x042026"
    bound = b"\0\0\0\6\1\x042026\0\0\0\5app_1\0\0\0\4ep_1\0\0\0\6secret"
    assert AESGCM(b"n" * 32).decrypt(sealed[6:18], sealed[18:], bound) == b"secret"
    assert len(sealed) == 2 + 4 + 12 + len(b"secret") + 16


def test_an_empty_secret_can_be_sealed() -> None:
    seals = Seals([NEW])
    assert seals.open(seals.seal(b"", PLACE), PLACE) == b""


def test_the_secret_cannot_be_seen_and_no_two_seals_are_alike() -> None:
    seals = Seals([NEW])
    sealed = {seals.seal(b"a long secret", PLACE) for _ in range(100)}
    assert len(sealed) == 100
    assert len({blob[6:18] for blob in sealed}) == 100
    assert not any(b"a long secret" in blob for blob in sealed)


def test_the_newest_key_seals_and_all_of_them_open() -> None:
    before, during, after = Seals([OLD]), Seals([NEW, OLD]), Seals([NEW])
    old = before.seal(b"secret", PLACE)
    assert during.open(old, PLACE) == b"secret"
    assert during.needs_resealing(old)
    assert not before.needs_resealing(old)
    new = during.seal(during.open(old, PLACE), PLACE)
    assert not during.needs_resealing(new)
    assert after.open(new, PLACE) == b"secret"
    assert after.needs_resealing(old)


def test_a_key_that_is_gone_is_named() -> None:
    old = Seals([OLD]).seal(b"secret", PLACE)
    with pytest.raises(SealError) as refused:
        Seals([NEW, ("2027", b"x" * 32)]).open(old, PLACE)
    assert str(refused.value) == (
        "a secret is sealed with the key '2025'; the keys given are 2026, 2027"
    )


def test_another_key_of_the_same_name_does_not_open() -> None:
    sealed = Seals([NEW]).seal(b"secret", PLACE)
    with pytest.raises(SealError) as refused:
        Seals([("2026", b"x" * 32)]).open(sealed, PLACE)
    assert str(refused.value) == (
        "the secret 'secret' of 'ep_1' ('app_1') cannot be opened: it was changed, sealed for"
        " another place, or with another key named '2026'"
    )
    assert refused.value.__suppress_context__


def test_what_another_key_sealed_cannot_be_passed_off_as_this_ones() -> None:
    same = Seals([("a", b"k" * 32)]).seal(b"secret", PLACE)
    renamed = b"\1\1b" + same[3:]
    with pytest.raises(SealError):
        Seals([("b", b"k" * 32)]).open(renamed, PLACE)


@pytest.mark.parametrize("between", [" ", ",", "\n", ", ", "\r\n", "\t", "  # remark, a:b\n"])
def test_keys_are_read_from_text_the_first_is_the_newest(between: str) -> None:
    text = f"# keys\n\n {written(NEW)}{between}{written(OLD)} \n# the end"
    seals = Seals.of(text)
    assert not seals.needs_resealing(Seals([NEW]).seal(b"", PLACE))
    assert seals.open(Seals([OLD]).seal(b"secret", PLACE), PLACE) == b"secret"


def test_keys_do_not_show_themselves() -> None:
    assert repr(Seals([NEW, OLD])) == str(Seals([NEW, OLD])) == "Seals(2026, 2025)"


@pytest.mark.parametrize("text", ["", "  \n", "# only a remark", ","])
def test_no_keys_are_refused(text: str) -> None:
    refused = refusal(text)
    assert (refused.field, refused.value, refused.wanted) == ("sealing keys", "empty", WANTED)


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(b"k" * 33).decode(),  # no id
        "a:" + base64.b64encode(b"k" * 32).decode() + "!",
        "a:!" + base64.b64encode(b"k" * 32).decode(),
        "a:" + base64.urlsafe_b64encode(b"\xff" * 32).decode(),
        "a:k\u00e9y",
        "a:bbb",
    ],
)
def test_what_is_no_key_is_refused_without_showing_it(text: str) -> None:
    refused = refusal(f"{written(NEW)} {text}")
    assert (refused.field, refused.value, refused.wanted) == ("sealing keys", "...", WANTED)
    assert text.removeprefix("a:") not in str(refused)
    assert text.removeprefix("a:") not in repr(refused.args)


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_a_key_has_32_bytes(size: int) -> None:
    refused = refusal(written(("short", b"k" * size)))
    assert (refused.field, refused.value) == ("sealing keys", f"short ({size} bytes)")
    assert refused.wanted == WANTED


@pytest.mark.parametrize("name", ["", "a/b", "caf\u00e9", "a" * 65])
def test_a_key_has_a_plain_name(name: str) -> None:
    refused = refusal(f"{name}:{base64.b64encode(b'k' * 32).decode()}")
    assert (refused.field, refused.value) == ("sealing keys", name)
    assert refused.wanted == "keys named by 1 to 64 letters, digits, '.', '_' or '-'"


def test_a_long_name_is_taken() -> None:
    seals = Seals([("a" * 64, b"k" * 32)])
    assert seals.open(seals.seal(b"secret", PLACE), PLACE) == b"secret"


def test_a_name_is_used_once() -> None:
    refused = refusal(written(NEW, OLD, ("2026", b"x" * 32)))
    assert (refused.field, refused.value) == ("sealing keys", "2026")
    assert refused.wanted == "keys that all have another id"


def test_a_generated_key_is_another_each_time() -> None:
    generated = {generate_key("a") for _ in range(20)}
    assert len(generated) == 20
    for text in generated:
        name, _, key = text.partition(":")
        assert name == "a"
        assert len(base64.b64decode(key, validate=True)) == 32
        assert repr(Seals.of(text)) == "Seals(a)"


def test_a_key_file_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "hooks.db.key"
    before = os.umask(0)
    try:
        text = key_file(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert text.startswith("# tarry's sealing keys, the newest first\nkey-")
    assert key_file(path) == text
    assert repr(Seals.of(text)).startswith("Seals(key-")
    assert list(tmp_path.iterdir()) == [path], "no draft is left behind"


def test_two_key_files_have_two_keys_of_two_names(tmp_path: Path) -> None:
    first, second = (Seals.of(key_file(tmp_path / name)) for name in "ab")
    assert repr(first) != repr(second)
    with pytest.raises(SealError):
        second.open(first.seal(b"secret", PLACE), PLACE)


def test_of_many_who_make_a_key_file_at_once_one_does(tmp_path: Path) -> None:
    together = Barrier(8)

    def make(_: int) -> str:
        together.wait()
        return key_file(tmp_path / "key")

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(make, range(8)))) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_who_loses_the_race_for_the_key_file_takes_the_other_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    link = os.link

    def overtaken(draft: str, wanted: Path) -> None:
        wanted.write_text(written(OLD))
        wanted.chmod(0o600)
        link(draft, wanted)

    monkeypatch.setattr(os, "link", overtaken)
    assert key_file(path) == written(OLD)
    assert list(tmp_path.iterdir()) == [path]


def test_a_key_file_is_on_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    fsync, link = os.fsync, os.link

    def noted_fsync(handle: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        assert steps[-1] == "folder" or os.fstat(handle).st_size > 50
        fsync(handle)

    def noted_link(draft: str, path: Path) -> None:
        steps.append("name")
        assert Path(draft).parent == path.parent, "a link cannot reach another file system"
        assert Path(draft).name.startswith(".key.")
        link(draft, path)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "link", noted_link)
    key_file(tmp_path / "key")
    assert steps == ["file", "name", "folder"]


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o601, 0o777, 0o640, 0o660, 0o440, 0o610])
def test_a_key_file_that_others_can_get_at_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    path.write_text(written(NEW))
    path.chmod(mode)
    with pytest.raises(SettingsError) as refused:
        key_file(path)
    assert (refused.value.field, refused.value.value) == ("key file", f"{path} (mode {mode:04o})")
    assert refused.value.wanted == f"closed to other users and groups: chmod 600 {path}"


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_key_file_that_only_its_owner_can_open_is_read(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    path.write_text(written(NEW))
    path.chmod(mode)
    assert key_file(path) == written(NEW)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        key_file(tmp_path / "none" / "key")
    assert str(refused.value) == (
        f"'key file' is '{tmp_path}/none/key';"
        " it must be a file that can be read and written (No such file or directory)"
    )
    assert isinstance(refused.value.__cause__, OSError)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    yield
    monkeypatch.undo()


@pytest.mark.usefixtures("full_disk")
def test_on_a_full_disk_no_half_made_key_file_is_left(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No space left on device"):
        key_file(tmp_path / "key")
    assert not list(tmp_path.iterdir())


def test_a_key_file_that_is_a_folder_or_no_text_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(SettingsError, match="Is a directory"):
        key_file(tmp_path)
    path = tmp_path / "key"
    path.write_bytes(b"\xff\xfe")
    path.chmod(0o600)
    with pytest.raises(SettingsError) as refused:
        key_file(path)
    assert (refused.value.field, refused.value.value) == ("key file", str(path))
    assert refused.value.wanted == WANTED


# --- The sealed fields of an endpoint -----------------------------------------------------------

SEALS = Seals([NEW])
NEWER = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"
OLDER = "whsec_b2xkZXIgb2xkZXIgb2xkZXIgb2xkZXIgb2xk"
APPLICATION = an_application()


def a_secret(endpoint: Endpoint, text: str, expires_at: float | None = None) -> Secret:
    return Secret(SEALS.seal(text.encode(), place(endpoint, "secret")), expires_at)


def test_secrets_are_opened_the_newest_first_each_with_its_end() -> None:
    endpoint = an_endpoint(APPLICATION)
    both = (a_secret(endpoint, NEWER), a_secret(endpoint, OLDER, NOON + 60))
    found = opened_secrets(replace(endpoint, secrets=both), SEALS)
    assert found == ((NEWER, None), (OLDER, NOON + 60))


def test_headers_that_were_not_set_are_none() -> None:
    assert opened_headers(an_endpoint(APPLICATION), SEALS) == ()


def test_what_is_sealed_opens_for_its_endpoint_and_column_alone() -> None:
    endpoint, other = an_endpoint(APPLICATION), an_endpoint(APPLICATION)
    stolen = replace(other, secrets=(a_secret(endpoint, NEWER),))
    with pytest.raises(SealError):
        opened_secrets(stolen, SEALS)
    swapped = replace(endpoint, headers=SEALS.seal(b"[]", place(endpoint, "secret")))
    with pytest.raises(SealError):
        opened_headers(swapped, SEALS)
