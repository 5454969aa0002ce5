"""Does a key, a secret, a header's value or a payload appear where it must not?

Each is planted in a real service as a marker: a text that nothing else contains. After traffic with
failures, everything that the service shows or writes is searched for all markers.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from secrets import token_hex

from tests.audit.check import Result, result

Places = Mapping[str, bytes]
"""What was shown or written, by the name of the place."""

SHOWN_ON_PURPOSE = {
    "header value": {"headers, with the right to secrets"},
    "signing secret": {"secret, with the right to secrets"},
    "created key": {"the answer that creates it"},
    "portal token": {"the answer that creates it"},
    "payload": {"messages, with a key that may read", "database"},
    "response": {"attempts, with a key that may read", "database"},
}
"""Where a marker has to be, or it was not planted. The sealing of payloads is an option."""


@dataclass(frozen=True)
class Markers:
    """The texts that are planted. The names of the fields say what they are."""

    api_key: str
    metrics_key: str
    wrong_key: str
    header_value: str
    authorization_value: str
    signing_secret: str
    payload: str
    response: str
    created_key: str = ""
    portal_token: str = ""

    @classmethod
    def new(cls) -> "Markers":
        """Return markers that nobody has used before."""

        def marker(kind: str) -> str:
            return f"canary-{kind}-{token_hex(8)}"

        secret = b64encode(marker("secret").encode().ljust(36, b"-")).decode()
        return cls(
            api_key=marker("key"),
            metrics_key=marker("metrics"),
            wrong_key=marker("wrong"),
            header_value=marker("header"),
            authorization_value=marker("authorization"),
            signing_secret=f"whsec_{secret}",
            payload=marker("payload"),
            response=marker("response"),
        )

    def by_kind(self) -> dict[str, str]:
        """Return all markers that were planted, by what they are."""
        values = {field.name.replace("_", " "): getattr(self, field.name) for field in fields(self)}
        return {kind: text for kind, text in values.items() if text}


def check_canary(markers: Markers, places: Places) -> Result:
    """Search all places for all markers."""
    by_kind = markers.by_kind()
    problems = []
    for kind, text in by_kind.items():
        on_purpose = SHOWN_ON_PURPOSE.get(kind, set())
        for place, content in places.items():
            found = any(form in content for form in forms(text))
            if found and place not in on_purpose:
                problems.append(f"the {kind} is in: {place}")
            elif not found and place in on_purpose:
                problems.append(f"the {kind} is not in: {place}, so it was not planted")
        problems += [
            f"{place} was not searched for the {kind}" for place in on_purpose - places.keys()
        ]
    summary = f"{len(by_kind)} markers, {len(places)} places"
    return result(summary, problems if by_kind and places else ["nothing was searched"])


def forms(text: str) -> Sequence[bytes]:
    """Return how a marker may be written: as it is, in base64, and without its prefix."""
    raw = text.removeprefix("whsec_").encode()
    # Base64 of a text inside a longer one starts at any of three places in a group of four letters.
    shifted = [b64encode(b"\0" * skip + raw)[4 if skip else 0 : -4] for skip in range(3)]
    return [raw, *shifted, raw.hex().encode()]
