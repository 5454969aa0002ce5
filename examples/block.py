"""Retry a few lines in the middle of a function, in plain and in async code."""

import asyncio
import tempfile
from pathlib import Path

import tarry

POLICY = tarry.Policy(backoff=tarry.Fixed(0.02), jitter=tarry.Percent(0.2), attempts=5)
THIRD = 3


def append(path: Path, line: str) -> int:
    """Write a line to a file that another program keeps locked for a while."""
    for attempt in tarry.attempts(POLICY, on=FileExistsError):
        with attempt:
            lock = path.with_suffix(".lock")
            if attempt.number == THIRD:  # the other program lets go
                lock.unlink()
            lock.touch(exist_ok=False)
            with path.open("a") as file:
                file.write(line)
            lock.unlink()
    return attempt.number


async def connect() -> str:
    """Retry a block of async code; `remaining` is the time left for the whole of it."""
    greeting = ""
    async for attempt in tarry.attempts(POLICY.replace(within=1), on=ConnectionError):
        async with attempt:
            left = attempt.remaining or 0
            print(f"  attempt {attempt.number}, {left:.2f} s left")
            if attempt.number < THIRD:
                raise ConnectionError("connection refused")
            greeting = "hello"
    return greeting


def main() -> None:
    """Run both."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "journal.txt")
        path.with_suffix(".lock").touch()
        attempts = append(path, "one line\n")
        print(f"Wrote {path.read_text().strip()!r} at attempt {attempts}")

    print("Connecting:")
    print(f"  {asyncio.run(connect())}")


if __name__ == "__main__":
    main()
