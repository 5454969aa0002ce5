"""When the next send at a rate may go: sends are evenly spaced, and a stall is not caught up.

Each send has a slot, the time for which it was planned. The next slot is one interval after this
one, so a timer that is a little late does not lower the rate. If the send is more than `MADE_UP`
seconds late, the next slot is one interval after the send itself.
"""

MADE_UP = 0.01
"""How many seconds late a send may be without delaying the sends after it. So 10 ms never have more
sends than belong to 20 ms: one send more at up to 100 a second."""


def next_slot(slot: float, *, sent_at: float, rate: float) -> float:
    """Return the slot after `slot`, for which a send went at `sent_at`."""
    return (slot if sent_at - slot <= MADE_UP else sent_at) + 1 / rate
