"""How many bytes of payloads are in memory, in all lanes together."""


class PayloadBytes:
    """A count that every lane adds to and takes from."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0

    def add(self, number: int) -> None:
        """Count payloads that came into memory."""
        self.bytes += number

    def remove(self, number: int) -> None:
        """Count payloads that left memory."""
        self.bytes -= number
