"""The webhook service: messages are stored durably, delivered signed, and retried by policy.

`open_hooks` opens a database of webhooks inside a program of your own.
"""

from tarry.service.build import make_hooks, open_hooks
from tarry.service.dispatch.upkeep.upkeep import Kept
from tarry.service.hooks import Hooks
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.listing import Cut
from tarry.service.model.message import Message
from tarry.service.model.settings import Limits, Parking
from tarry.service.model.sizes import Sizes
from tarry.service.model.task import Task
from tarry.service.settings import Settings
from tarry.service.store import kinds
from tarry.service.wire import seal, secret
from tarry.service.wire.sign import Signer

__all__ = [
    "Application",
    "Cut",
    "Endpoint",
    "Hooks",
    "Kept",
    "Limits",
    "Message",
    "Parking",
    "Settings",
    "Signer",
    "Sizes",
    "Standing",
    "Task",
    "kinds",
    "make_hooks",
    "open_hooks",
    "seal",
    "secret",
]
