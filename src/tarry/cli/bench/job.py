"""The job that every benchmark does: one signed webhook of 1 KB.

The signature follows Standard Webhooks and uses the standard library alone, so that tarry's floor
and its rivals do the same work.
"""

import hmac
from base64 import b64decode, b64encode

SECRET = "whsec_" + b64encode(bytes(range(32))).decode()
PAYLOAD_BYTES = 1024

_frame = '{"type":"order.created","data":{"text":"%s"}}'
PAYLOAD = _frame % ("x" * (PAYLOAD_BYTES - len(_frame % "")))


def message_id(serial: int) -> str:
    """Return the id of the message with this number."""
    return f"msg_{serial:024d}"


def key_of(secret: str) -> bytes:
    """Decode a secret into its key."""
    return b64decode(secret.removeprefix("whsec_"))


def signature(key: bytes, id: str, timestamp: int, body: bytes) -> str:  # noqa: A002  `id` is the usual name
    """Sign as Standard Webhooks version 1 says."""
    signed = hmac.digest(key, b"%s.%d.%s" % (id.encode(), timestamp, body), "sha256")
    return f"v1,{b64encode(signed).decode()}"


def signed_headers(secret: str, id: str, timestamp: int, body: bytes) -> dict[str, str]:  # noqa: A002  `id` is the usual name
    """Return the headers by which a receiver verifies the message."""
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(key_of(secret), id, timestamp, body),
    }
