"""The webhook service: messages are stored durably, delivered signed, and retried by policy.

`open_hooks` opens a database of webhooks inside a program of your own.
"""

from tarry.service.hooks import Hooks, open_hooks

__all__ = ["Hooks", "open_hooks"]
