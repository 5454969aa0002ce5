"""Chains of deliveries: a receiver that handles one sends the next message, and so on.

A chain that leads back to where it began never ends by itself. Each delivery says its place in the
chain in the header `webhook-chain`. A receiver that passes the header on with what it sends lets
the service count, and end the chain.
"""

from tarry.errors import SettingsError

HEADER = "webhook-chain"
MOST_DELIVERIES = 20
"""The longest chain of deliveries."""


def check_chain(chain: int) -> None:
    """Raise SettingsError if a message would begin a delivery beyond the longest chain."""
    if type(chain) is not int or not 0 <= chain < MOST_DELIVERIES:
        wanted = f"a whole number from 0 to {MOST_DELIVERIES - 1}: longer chains are ended"
        raise SettingsError("chain", chain, wanted)
