"""A breaker without retries: stop calling a service that is down, and notice when it is back."""

import time

import tarry
from tarry.observe import BreakerMoved, Event, listen

mail = tarry.Breaker(failures=3, open_for=0.1, on=OSError, name="mail server")


class Server:
    """The mail server's health."""

    is_down = True


@mail
def send(text: str) -> str:
    """Send a mail."""
    if Server.is_down:
        raise ConnectionRefusedError("connection refused")
    return f"sent {text!r}"


def show(event: Event) -> None:
    """Print when the breaker moves."""
    if isinstance(event, BreakerMoved):
        print(f"  [{event.name}: {event.before} -> {event.after}]")


def try_to_send(text: str) -> None:
    """Send, or say why not."""
    try:
        print(f"  {send(text)}")
    except tarry.CircuitOpen as refusal:
        print(f"  not tried: {refusal}")
    except OSError as error:
        print(f"  failed: {error}")


def main() -> None:
    """Go through an outage."""
    listen(show)
    print("The mail server is down:")
    for number in range(5):
        try_to_send(f"mail {number}")

    time.sleep(0.11)
    print("Later, still down: one probe finds out, the rest are refused:")
    try_to_send("mail 5")
    try_to_send("mail 6")

    Server.is_down = False
    time.sleep(0.11)
    print("Back again:")
    try_to_send("mail 7")
    try_to_send("mail 8")


if __name__ == "__main__":
    main()
