"""What a receiver of webhooks needs: to know who sent a message, and whether it came before.

    webhook = Webhook("whsec_...", seen=Memory())
    message = webhook.verify(body, headers)
    message.json()

The standard library is enough; public keys (`whpk_`) need `cryptography`. `starlette` (for FastAPI
too), `django` and `flask` have it in the form that each framework expects.
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
