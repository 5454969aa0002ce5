import base64
import hashlib
import hmac
import time
from datetime import UTC, datetime
from math import inf

import pytest
import standardwebhooks
import svix.webhooks
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from tarry.errors import SettingsError
from tarry.receive.keys import shared_key
from tarry.service.wire.secret import generate_private, generate_shared, public_of
from tarry.service.wire.sign import Signer, check_headers

SHARED = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PRIVATE = (
    "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
)
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
BODY = b'{"test": 2432232314}'
NOW = 1614265330.0
BODIES = [b"", b"{}", b"\xef\xbb\xbf{}", b"a\r\nb\0c", b"x" * 1_000_000, "é\u2028".encode()]


def signature(signer: Signer, now: float = NOW) -> str:
    return dict(signer.headers(ID, 1, BODY, now=now))["webhook-signature"]


def test_the_published_vectors_come_out() -> None:
    signer = Signer.of([(SHARED, None), (PRIVATE, None)])
    v1 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    v1a = (
        "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM"
        "+m7TBAg=="
    )
    assert signer.headers(ID, 3, BODY, now=NOW) == (
        ("webhook-id", ID),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", f"{v1} {v1a}"),
        ("svix-id", ID),
        ("svix-timestamp", "1614265330"),
        ("svix-signature", f"{v1} {v1a}"),
        ("webhook-attempt", "3"),
    )


def test_the_timestamp_is_in_whole_seconds() -> None:
    headers = Signer.of([(SHARED, None)]).headers(ID, 1, BODY, now=NOW + 0.999)
    assert dict(headers)["webhook-timestamp"] == dict(headers)["svix-timestamp"] == "1614265330"
    assert dict(headers)["webhook-signature"] == signature(Signer.of([(SHARED, None)]))


@pytest.mark.parametrize("body", BODIES, ids=[0, 1, "BOM", "CRLF and NUL", "1 MB", "non-ASCII"])
def test_two_other_packages_verify_what_is_signed(body: bytes) -> None:
    secret = generate_shared()
    headers = dict(Signer.of([(secret, None)]).headers(ID, 1, body, now=time.time()))
    standardwebhooks.Webhook(secret).verify(body, headers, json_parse=False)
    svix.webhooks.Webhook(secret).verify(body, headers)
    family = {name: value for name, value in headers.items() if name.startswith("svix-")}
    assert len(family) == 3
    svix.webhooks.Webhook(secret).verify(body, family)


@given(body=st.text(), key=st.binary(min_size=24, max_size=75))
def test_signatures_are_those_of_another_package(body: str, key: bytes) -> None:
    secret = "whsec_" + base64.b64encode(key).decode()
    theirs = standardwebhooks.Webhook(secret).sign(ID, datetime.fromtimestamp(NOW, UTC), body)
    ours = Signer.of([(secret, None)]).headers(ID, 1, body.encode(), now=NOW)
    assert dict(ours)["webhook-signature"] == theirs


@given(body=st.binary(max_size=300), key=st.binary(min_size=24, max_size=75))
def test_a_shared_secret_signs_by_hmac_of_id_time_and_body(body: bytes, key: bytes) -> None:
    secret = "whsec_" + base64.b64encode(key).decode()
    ours = dict(Signer.of([(secret, None)]).headers(ID, 1, body, now=NOW))
    digest = hmac.new(key, f"{ID}.{int(NOW)}.".encode() + body, hashlib.sha256).digest()
    assert ours["webhook-signature"] == "v1," + base64.b64encode(digest).decode()


@pytest.mark.parametrize("body", BODIES, ids=[0, 1, "BOM", "CRLF and NUL", "1 MB", "non-ASCII"])
def test_a_private_key_signs_for_its_public_half(body: bytes) -> None:
    secret = generate_private()
    headers = dict(Signer.of([(secret, None)]).headers(ID, 1, body, now=NOW))
    version, _, given_signature = headers["webhook-signature"].partition(",")
    assert version == "v1a"
    raw = base64.b64decode(public_of(secret).removeprefix("whpk_"))
    public = Ed25519PublicKey.from_public_bytes(raw)
    content = f"{ID}.{int(NOW)}.".encode() + body
    public.verify(base64.b64decode(given_signature), content)
    with pytest.raises(InvalidSignature):
        public.verify(base64.b64decode(given_signature), content + b" ")


def test_a_signer_signs_many_messages_one_like_the_other() -> None:
    signer = Signer.of([(SHARED, None), (PRIVATE, None)])
    first = signature(signer)
    assert dict(signer.headers("msg_other", 1, b"other", now=NOW))["webhook-signature"] != first
    assert signature(signer) == first


def test_during_a_grace_period_both_secrets_sign_the_newest_first() -> None:
    new, old = generate_shared(), generate_private()
    signer = Signer.of([(new, None), (old, NOW + 10)])
    alone = [signature(Signer.of([(secret, None)])) for secret in (new, old)]
    assert signature(signer) == " ".join(alone)
    headers = dict(signer.headers(ID, 1, BODY, now=time.time()))
    svix.webhooks.Webhook(new).verify(BODY, headers)


def test_an_old_secret_signs_until_its_grace_period_ends_and_not_a_moment_longer() -> None:
    newest, older, oldest = (generate_shared() for _ in range(3))
    signer = Signer.of([(newest, None), (older, NOW + 20), (oldest, NOW + 10)])

    def count(now: float) -> int:
        return len(signature(signer, now).split(" "))

    assert [count(NOW + seconds) for seconds in (0, 9.999)] == [3, 3]
    assert [count(NOW + seconds) for seconds in (10, 19.999)] == [2, 2]
    assert [count(NOW + seconds) for seconds in (20, 1e6)] == [1, 1]
    assert signer.changes_at == NOW + 10
    late = dict(signer.headers(ID, 1, BODY, now=NOW + 15))
    alone = [
        dict(Signer.of([(secret, None)]).headers(ID, 1, BODY, now=NOW + 15))["svix-signature"]
        for secret in (newest, older)
    ]
    assert late["svix-signature"] == " ".join(alone)


def test_a_signer_without_old_secrets_never_changes() -> None:
    assert Signer.of([(SHARED, None)]).changes_at == inf


@pytest.mark.parametrize(
    ("secrets", "count"), [([], 0), ([(SHARED, NOW)], 1), ([(SHARED, 1e300), (PRIVATE, NOW)], 2)]
)
def test_no_message_will_ever_go_out_unsigned(
    secrets: list[tuple[str, float | None]], count: int
) -> None:
    with pytest.raises(SettingsError) as refused:
        Signer.of(secrets)
    assert str(refused.value) == (
        f"'secrets' is {count}; it must be at least one that does not expire"
    )


def test_a_bad_secret_is_refused_when_the_signer_is_made() -> None:
    with pytest.raises(SettingsError, match="24 to 75 bytes"):
        Signer.of([("whsec_AAAA", None)])
    with pytest.raises(SettingsError, match="a seed"):
        Signer.of([("whsk_AAAA", None)])


def test_a_signer_does_not_show_its_secrets() -> None:
    said = repr(Signer.of([(SHARED, None), (PRIVATE, 5.0)]))
    assert "MfKQ" not in said
    assert "6Xb" not in said
    assert repr(shared_key(SHARED)) not in said


def test_what_an_owner_sets_is_given_back_as_it_is() -> None:
    headers = (
        ("Authorization", "Bearer abc"),
        ("X-Tenant", "caf\u00e9 \u00a0 \t=;,\"'"),
        ("User-Agent", "shop/1.0"),
        ("Content-Type", "application/cloudevents+json"),
        ("x_odd!#$%&'*+.^`|~9", ""),
    )
    assert check_headers(headers) == headers
    assert check_headers(iter(headers)) == headers
    assert check_headers(()) == ()


def refusal(*headers: tuple[str, str]) -> SettingsError:
    with pytest.raises(SettingsError) as refused:
        check_headers(headers)
    return refused.value


@pytest.mark.parametrize(
    "name",
    ["", " ", "x y", "x:", ":path", "x\r\ny", "x\n", "x\0", "caf\u00e9", "x(", "x,y", "\uff48ost"]
    + [f"a{chr(code)}" for code in range(33)]
    + [f"a{letter}" for letter in '"(),/:;<=>?@[\\]{}\x7f\x80\u0142'],
)
def test_a_name_that_is_no_token_is_refused(name: str) -> None:
    refused = refusal((name, "value"))
    assert (refused.field, refused.value) == ("headers", name)
    assert refused.wanted == "a header name: letters, digits and !#$%&'*+-.^_`|~"


@pytest.mark.parametrize(
    "letter",
    [chr(code) for code in range(32) if chr(code) != "\t"]
    + [chr(code) for code in range(0x7F, 0xA0)]
    + ["\u0100", "\u0142", "\u2028", "\ud800", "\U0001f600", "\uff0d"],
)
def test_a_value_that_could_break_out_of_its_line_is_refused(letter: str) -> None:
    for value in (f"a{letter}b", letter, f"a{letter}", f"{letter}b"):
        refused = refusal(("X-A", value))
        assert (refused.field, refused.value) == ("headers.X-A", "...")
        assert refused.wanted == "one line of Latin-1 text without control characters"


@pytest.mark.parametrize("letter", [*map(chr, range(0x20, 0x7F)), *map(chr, range(0xA0, 0x100))])
def test_a_value_of_latin_1_is_taken(letter: str) -> None:
    assert check_headers([("X-A", f"a{letter}\tb")])


@pytest.mark.parametrize("value", [" a", "a ", "\ta", "a\t", " "])
def test_space_around_a_value_is_refused(value: str) -> None:
    refused = refusal(("X-A", value))
    assert (refused.field, refused.value) == ("headers.X-A", "...")
    assert refused.wanted == "without space at its beginning or end"


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "Content-Length",
        "content_length",
        "Transfer-Encoding",
        "transfer_encoding",
        "Connection",
        "Keep-Alive",
        "Proxy-Connection",
        "Proxy-Authorization",
        "Proxy-Authenticate",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "HTTP2-Settings",
        "Webhook-Id",
        "webhook-timestamp",
        "WEBHOOK-SIGNATURE",
        "webhook_signature",
        "webhook-attempt",
        "webhook-anything",
        "svix-id",
        "Svix-Timestamp",
        "svix-signature",
        "SVIX_SIGNATURE",
        "Metadata",
        "METADATA",
        "Tarry-Attempt",
        "Metadata-Flavor",
        "X-aliyun-ecs-metadata-token",
        "X-Google-Metadata-Request",
        "X-aws-ec2-metadata-token",
        "X-aws-ec2-metadata-token-ttl-seconds",
    ],
)
def test_what_the_sender_sets_itself_cannot_be_overridden(name: str) -> None:
    refused = refusal(("X-Fine", "fine"), (name, "1"))
    assert (refused.field, refused.value) == ("headers", name)
    assert refused.wanted == "a header that the sender does not set itself"


def test_a_name_is_set_once() -> None:
    refused = refusal(("X-Key", "1"), ("X-Other", "2"), ("x_key", "3"))
    assert (refused.field, refused.value) == ("headers", "X-Key, X-Other, x_key")
    assert refused.wanted == "names that differ by more than case and _ for -"


def test_no_more_than_32_headers_are_taken() -> None:
    headers = [(f"X-{number}", "1") for number in range(33)]
    assert len(check_headers(headers[:32])) == 32
    refused = refusal(*headers)
    assert (refused.field, refused.value, refused.wanted) == ("headers", 33, "at most 32")


def test_no_more_than_8_kilobytes_are_taken() -> None:
    room = 8192 - len("X-A: \r\n") - len("X-B: b\r\n")
    assert check_headers([("X-A", "a" * room), ("X-B", "b")])
    refused = refusal(("X-A", "a" * (room + 1)), ("X-B", "b"))
    assert (refused.field, refused.value) == ("headers", "8193 bytes")
    assert refused.wanted == "at most 8192 bytes together"
