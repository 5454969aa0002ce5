import base64
import hmac
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random

import pytest
import standardwebhooks
import svix.webhooks
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from tarry.errors import MalformedHeaders, SettingsError, VerificationError
from tarry.receive.verify import MOST_SIGNATURES, WINDOW, Verified, Verifier
from tarry.service.wire.secret import generate_private, generate_shared, public_of
from tarry.service.wire.sign import Signer

ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
BODY = b'{"test": 2432232314}'
NOW = 1614265330.0
SHARED = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PRIVATE = generate_private()


def signed(secret: str = SHARED, body: bytes = BODY, now: float = NOW) -> dict[str, str]:
    """Give the headers of one family, as Standard Webhooks has them."""
    headers = Signer.of([(secret, None)]).headers(ID, 1, body, now=now)
    return {name: value for name, value in headers if name.startswith("webhook-")}


def refusal(
    headers: dict[str, str] | list[tuple[str, str]],
    *secrets: str,
    body: bytes = BODY,
    now: float = NOW,
) -> str:
    with pytest.raises(VerificationError) as refused:
        Verifier.of(*(secrets or (SHARED,))).verify(body, headers, now=now)
    return str(refused.value)


def test_a_signed_message_is_verified() -> None:
    verified = Verifier.of(SHARED).verify(BODY, signed(), now=NOW)
    assert verified == Verified(id=ID, sent_at=1614265330.0, body=BODY)


@pytest.mark.parametrize("prove_by", [lambda secret: secret, public_of], ids=["own", "public"])
def test_a_private_keys_messages_are_verified_by_either_half(
    prove_by: Callable[[str], str],
) -> None:
    verifier = Verifier.of(prove_by(PRIVATE))
    assert verifier.verify(BODY, signed(PRIVATE), now=NOW).id == ID
    assert refusal(signed(generate_private()), prove_by(PRIVATE)).startswith("no signature fits")


@pytest.mark.parametrize(
    "packaged", [standardwebhooks.Webhook, svix.webhooks.Webhook], ids=["standardwebhooks", "svix"]
)
@pytest.mark.parametrize("body", ["", "{}", "\ufeff{}", "a\r\nb\0c", "x" * 1_000_000])
def test_what_other_packages_sign_is_verified(
    packaged: type[standardwebhooks.Webhook], body: str
) -> None:
    signature = packaged(SHARED).sign(ID, datetime.fromtimestamp(NOW, UTC), body)
    headers = {
        "Webhook-Id": ID,
        "Webhook-Timestamp": str(int(NOW)),
        "Webhook-Signature": signature,
    }
    assert Verifier.of(SHARED).verify(body.encode(), headers, now=NOW).id == ID
    assert refusal(headers, generate_shared(), body=body.encode())


def test_an_ed25519_signature_made_by_hand_is_verified() -> None:
    key = Ed25519PrivateKey.generate()
    public = "whpk_" + base64.b64encode(key.public_key().public_bytes_raw()).decode()
    by_hand = base64.b64encode(key.sign(f"{ID}.{int(NOW)}.".encode() + BODY)).decode()
    headers = signed() | {"webhook-signature": f"v1a,{by_hand}"}
    assert Verifier.of(public).verify(BODY, headers, now=NOW).id == ID
    assert refusal(headers | {"webhook-signature": f"v1,{by_hand}"}, public)


@given(body=st.binary(), key=st.binary(min_size=24, max_size=75), now=st.floats(0, 4e9))
def test_whatever_is_signed_is_verified(body: bytes, key: bytes, now: float) -> None:
    secret = "whsec_" + base64.b64encode(key).decode()
    headers = Signer.of([(secret, None)]).headers(ID, 1, body, now=now)
    assert Verifier.of(secret).verify(body, headers, now=now) == Verified(ID, float(int(now)), body)


@pytest.mark.parametrize(
    "written", [str.lower, str.upper, str.title], ids=["lower", "upper", "title"]
)
def test_headers_are_found_whatever_their_case(written: Callable[[str], str]) -> None:
    headers = {written(name): value for name, value in signed().items()}
    assert Verifier.of(SHARED).verify(BODY, headers, now=NOW).id == ID
    assert Verifier.of(SHARED).verify(BODY, list(headers.items()), now=NOW).id == ID


def test_the_older_family_of_headers_will_do() -> None:
    older = {name.replace("webhook-", "svix-"): value for name, value in signed().items()}
    assert Verifier.of(SHARED).verify(BODY, older, now=NOW).id == ID
    assert refusal(older | {"svix-id": "msg_other"}).startswith("no signature fits")


def test_the_families_are_not_mixed() -> None:
    older = {name.replace("webhook-", "svix-"): value for name, value in signed().items()}
    assert Verifier.of(SHARED).verify(BODY, older | {"webhook-id": "msg_x"}, now=NOW).id == ID
    both = older | signed() | {"webhook-id": "msg_other"}
    assert refusal(both).startswith("no signature fits")
    del both["webhook-id"]
    assert refusal(both) == "the header 'webhook-id' is missing"


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_or_empty_header_is_named(name: str) -> None:
    headers = signed()
    assert refusal(headers | {name: ""}) == f"the header '{name}' is missing"
    del headers[name]
    assert refusal(headers) == f"the header '{name}' is missing"


def test_a_header_that_comes_twice_is_refused_if_it_matters() -> None:
    pairs = list(signed().items())
    assert refusal([*pairs, ("WebHook-Id", ID)]) == "the header 'webhook-id' comes twice"
    assert refusal([("svix-id", ID), *pairs, ("Svix-Id", ID)]) == "the header 'svix-id' comes twice"
    fine = [*pairs, ("Accept", "a"), ("accept", "b")]
    assert Verifier.of(SHARED).verify(BODY, fine, now=NOW).id == ID


def test_the_window_is_five_minutes_and_its_edges_belong_to_it() -> None:
    assert WINDOW == 300.0
    verifier = Verifier.of(SHARED)
    for seconds in (-300.0, -299.5, 0.0, 299.5, 300.0):
        assert verifier.verify(BODY, signed(), now=NOW + seconds).sent_at == NOW
    old = "the message is 301 s old; at most 300 s are accepted"
    assert refusal(signed(), now=NOW + 301) == old
    assert refusal(signed(), now=NOW + 300.001)
    early = "the message is 301 s ahead of this clock; 300 s are accepted"
    assert refusal(signed(), now=NOW - 301) == early
    assert refusal(signed(), now=NOW - 300.001)


def test_another_window_can_be_set() -> None:
    verifier = Verifier.of(SHARED, window=10)
    assert verifier.verify(BODY, signed(), now=NOW + 10).id == ID
    with pytest.raises(VerificationError, match="11 s old; at most 10 s"):
        verifier.verify(BODY, signed(), now=NOW + 11)
    with pytest.raises(VerificationError, match="11 s ahead of this clock; 10 s"):
        verifier.verify(BODY, signed(), now=NOW - 11)


@pytest.mark.parametrize(
    "stamp",
    [
        "now",
        "+1614265330",
        "-5",
        "1614265330.0",
        "1e9",
        " 1614265330",
        "1614265330\n",
        "1_6",
        "nan",
        "inf",
        "0x60",
        "\uff11\uff16",
        "1111111111111111",
    ],
)
def test_a_timestamp_that_is_no_whole_number_is_refused(stamp: str) -> None:
    headers = signed() | {"webhook-timestamp": stamp}
    assert refusal(headers) == "the message's timestamp is not a whole number of seconds"


def test_a_long_timestamp_is_just_far_ahead() -> None:
    assert "ahead of this clock" in refusal(signed() | {"webhook-timestamp": "9" * 15})


@pytest.mark.parametrize("letter", [".", " ", "\n", "\0", "\x7f", "\u00e9", "\ud800", "\t"])
def test_an_id_has_no_full_stop_and_only_visible_letters(letter: str) -> None:
    said = "the message's id has a character that no id has"
    for odd in (letter, f"a{letter}b", f"{letter}b", f"a{letter}"):
        assert refusal(signed() | {"webhook-id": odd}) == said


@given(middle=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=".")))
def test_other_visible_letters_are_fine_in_an_id(middle: str) -> None:
    message = f"m{middle}"
    headers = Signer.of([(SHARED, None)]).headers(message, 1, BODY, now=NOW)
    assert Verifier.of(SHARED).verify(BODY, headers, now=NOW).id == message


def test_the_end_of_an_id_cannot_pass_for_a_timestamp() -> None:
    # What is signed is "a.1614265330.1614265631.x": an attacker may not read it as sent later.
    headers = signed(body=b"1614265631.x")
    forged = headers | {
        "webhook-id": f"{ID}.{int(NOW)}",
        "webhook-timestamp": "1614265631",
    }
    assert refusal(forged, body=b"x", now=1614265631.0)


def test_one_signature_that_fits_is_enough() -> None:
    good = signed()["webhook-signature"]
    wrong = "v1," + base64.b64encode(bytes(32)).decode()
    for listed in (f"{wrong} {good}", f"{good} {wrong}", f"{wrong} v1a,x  v9 {good}"):
        headers = signed() | {"webhook-signature": listed}
        assert Verifier.of(SHARED).verify(BODY, headers, now=NOW).id == ID
    assert refusal(signed() | {"webhook-signature": wrong}).startswith("no signature fits")


def test_one_secret_that_fits_is_enough() -> None:
    other = generate_shared()
    for secrets in ((other, SHARED), (SHARED, other), (public_of(PRIVATE), SHARED)):
        assert Verifier.of(*secrets).verify(BODY, signed(), now=NOW).id == ID
        assert refusal(signed(generate_shared()), *secrets)


def test_during_a_rotation_old_and_new_receivers_verify() -> None:
    new, old = generate_private(), generate_shared()
    headers = Signer.of([(new, None), (old, NOW + 60)]).headers(ID, 1, BODY, now=NOW)
    for secret in (new, public_of(new), old):
        assert Verifier.of(secret).verify(BODY, headers, now=NOW).id == ID
    assert refusal(list(headers), generate_shared())


@pytest.mark.parametrize("version", ["v2", "v1b", "V1", "", "v1 ", "v", "v10", "v1a"])
def test_an_unknown_version_proves_nothing(version: str) -> None:
    bare = signed()["webhook-signature"].removeprefix("v1,")
    assert refusal(signed() | {"webhook-signature": f"{version},{bare}"})
    asymmetric = signed(PRIVATE)["webhook-signature"].removeprefix("v1a,")
    other = "v1" if version == "v1a" else version
    assert refusal(signed() | {"webhook-signature": f"{other},{asymmetric}"}, PRIVATE)


@pytest.mark.parametrize("secret", [SHARED, PRIVATE], ids=["v1", "v1a"])
def test_half_a_signature_or_an_odd_one_proves_nothing(secret: str) -> None:
    whole = signed(secret)["webhook-signature"]
    version, _, bare = whole.partition(",")
    odd = [whole[:end] for end in range(len(whole))]
    odd += [f"{version}", f"{version},", f"{version},{bare},{bare}", f"{version};{bare}"]
    odd += [f"{version},{bare}\n", f"{version},{bare}=", f"{version},\ud800", f"{version},{bare}é"]
    odd += [bare, f"{version},={bare}", f"{version}\t,{bare}", f"{version},{bare[:-1]}", "," * 50]
    for signature in odd:
        assert refusal(signed(secret) | {"webhook-signature": signature}, secret)


def test_base64_with_its_idle_bits_set_proves_nothing() -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for secret, padding in ((SHARED, 1), (PRIVATE, 2)):
        whole = signed(secret)["webhook-signature"]
        place = len(whole) - padding - 1
        other = letters[letters.index(whole[place]) + 1]
        same_bytes = whole[:place] + other + whole[place + 1 :]
        decoded = [base64.b64decode(text.partition(",")[2]) for text in (whole, same_bytes)]
        assert decoded[0] == decoded[1]
        assert refusal(signed(secret) | {"webhook-signature": same_bytes}, secret)


def test_a_crowd_of_signatures_is_refused_unread() -> None:
    good = signed()["webhook-signature"]
    crowd = ["v1,x"] * (MOST_SIGNATURES - 1)
    headers = signed() | {"webhook-signature": " ".join([*crowd, good])}
    assert Verifier.of(SHARED).verify(BODY, headers, now=NOW).id == ID
    headers = signed() | {"webhook-signature": " ".join([*crowd, "v1,x", good])}
    assert refusal(headers) == "there are more than 32 signatures"


def test_signatures_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(expected: bytes, given_signature: bytes) -> bool:
        compared.append((expected, given_signature))
        return False

    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert refusal(signed())
    good = signed()["webhook-signature"].removeprefix("v1,").encode()
    assert compared == [(good, good)]


def test_the_body_can_be_read_as_json() -> None:
    assert Verifier.of(SHARED).verify(BODY, signed(), now=NOW).json() == {"test": 2432232314}
    verified = Verifier.of(SHARED).verify(b"<xml>", signed(body=b"<xml>"), now=NOW)
    with pytest.raises(ValueError, match="Expecting value"):
        verified.json()


@pytest.mark.parametrize("body", [BODY.decode(), {"test": 1}, None, bytearray(BODY)])
def test_a_body_that_is_not_the_bytes_that_came_is_a_mistake(body: object) -> None:
    with pytest.raises(TypeError, match=f"the bytes that came, not {type(body).__name__}"):
        Verifier.of(SHARED).verify(body, signed(), now=NOW)  # type: ignore[arg-type]  # on purpose


def test_headers_that_prove_nothing_are_told_from_signatures_that_do_not_fit() -> None:
    without = {name: text for name, text in signed().items() if name != "webhook-id"}
    crowd = " ".join(["v1,x"] * (MOST_SIGNATURES + 1))
    malformed: list[dict[str, str] | list[tuple[str, str]]] = [
        without,
        [*signed().items(), ("webhook-id", ID)],
        signed() | {"webhook-id": "a.b"},
        signed() | {"webhook-timestamp": "now"},
        signed() | {"webhook-signature": crowd},
    ]
    for headers in malformed:
        with pytest.raises(MalformedHeaders):
            Verifier.of(SHARED).verify(BODY, headers, now=NOW)
    for headers, now in ((signed(generate_shared()), NOW), (signed(), NOW + 301)):
        with pytest.raises(VerificationError) as refused:
            Verifier.of(SHARED).verify(BODY, headers, now=now)
        assert type(refused.value) is VerificationError


def test_a_secret_is_needed_and_a_bad_one_refused() -> None:
    with pytest.raises(SettingsError, match="'secrets' is 0; it must be at least one"):
        Verifier.of()
    for bad in ("whsec_AAAA", "whsk_AAAA", "whpk_AAAA", "secret"):
        with pytest.raises(SettingsError):
            Verifier.of(bad)


def test_a_receiver_is_told_what_kinds_of_keys_it_may_have() -> None:
    with pytest.raises(SettingsError) as refused:
        Verifier.of(SHARED.removeprefix("whsec_"))
    assert str(refused.value) == (
        "'secret' is '... (32 characters)'; it must be 'whsec_' or 'whpk_' and base64"
    )


def mutated(chance: Random, body: bytes, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """Change one thing about a message, anywhere that matters."""
    part = chance.choice(["body", *headers])
    if part != "body":
        text = headers[part]
        return body, headers | {part: changed(chance, text.encode()).decode("latin-1")}
    return changed(chance, body), headers


def changed(chance: Random, raw: bytes) -> bytes:
    place = chance.randrange(len(raw))
    match chance.randrange(4):
        case 0:
            return raw[:place] + bytes([raw[place] ^ (1 << chance.randrange(8))]) + raw[place + 1 :]
        case 1:
            return raw[:place] + raw[place + 1 :]
        case 2:
            return raw[:place] + bytes([chance.randrange(256)]) + raw[place:]
        case _:
            other = chance.randrange(len(raw))
            swapped = bytearray(raw)
            swapped[place], swapped[other] = swapped[other], swapped[place]
            return bytes(swapped)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("secret", "count"), [(SHARED, 100_000), (PRIVATE, 10_000)], ids=["v1", "v1a"]
)
def test_a_message_that_was_changed_anywhere_is_never_verified(secret: str, count: int) -> None:
    chance = Random(7)
    verifier = Verifier.of(secret)
    genuine = signed(secret)
    del genuine["webhook-attempt"]  # it is told, not proven
    tried = 0
    while tried < count:
        body, headers = mutated(chance, BODY, genuine)
        headers["webhook-signature"] = headers["webhook-signature"].strip(" ")  # it parts them
        if (body, headers) == (BODY, genuine):
            continue
        tried += 1
        with pytest.raises(VerificationError):
            verifier.verify(body, headers, now=NOW)
