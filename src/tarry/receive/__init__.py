"""Receive webhooks: verify who sent a message, and recognize a message that came before.

    webhook = Webhook("whsec_...", seen=Memory())
    message = webhook.verify(body, headers)
    message.json()

It needs only the standard library, except that public keys (`whpk_`) need `cryptography`. The
modules `starlette` (also for FastAPI), `django` and `flask` adapt it to these frameworks.
"""

from tarry.errors import MalformedHeaders, MessageReplayed, VerificationError
from tarry.receive.seen import Memory, Seen
from tarry.receive.verify import WINDOW, Verified
from tarry.receive.webhook import Webhook

__all__ = [
    "WINDOW",
    "MalformedHeaders",
    "Memory",
    "MessageReplayed",
    "Seen",
    "VerificationError",
    "Verified",
    "Webhook",
]
