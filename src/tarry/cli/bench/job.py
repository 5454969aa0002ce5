"""The job that everybody does who takes part in a benchmark: one signed webhook of 1 KB.

The signature is by Standard Webhooks, with nothing but the standard library: it is the same work
for tarry's floor and for its rivals.
"""

import hmac
from base64 import b64decode, b64encode

SECRET = "whsec_" + b64encode(bytes(range(32))).decode()
PAYLOAD_BYTES = 1024

_frame = '{"type":"order.created","data":{"text":"%s"}}'
PAYLOAD = _frame % ("x" * (PAYLOAD_BYTES - len(_frame % "")))


def message_id(serial: int) -> str:
    """The id of the message with this number."""
    return f"msg_{serial:024d}"


def key_of(secret: str) -> bytes:
    """The key that a secret is the spelling of."""
    return b64decode(secret.removeprefix("whsec_"))


def signature(key: bytes, id: str, timestamp: int, body: bytes) -> str:  # noqa: A002  an id is what it is
    """By Standard Webhooks, version 1."""
    signed = hmac.digest(key, b"%s.%d.%s" % (id.encode(), timestamp, body), "sha256")
    return f"v1,{b64encode(signed).decode()}"


def signed_headers(secret: str, id: str, timestamp: int, body: bytes) -> dict[str, str]:  # noqa: A002  an id is what it is
    """The headers that a receiver verifies the message by."""
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(key_of(secret), id, timestamp, body),
    }
