"""Retry a plain function: which errors are retried, how long it waits, and what it raises."""

from itertools import islice

import tarry

POLICY = tarry.Policy(
    backoff=tarry.Exponential(base=0.02, cap=0.2),
    jitter=tarry.Full(),
    attempts=4,
    within=5,
)


class Inventory:
    """A service that is down for its first calls."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    @tarry.retry(POLICY, on=(ConnectionError, TimeoutError))
    def stock(self, item: str) -> int:
        """Ask how many there are."""
        if self.failures:
            self.failures -= 1
            print(f"  asking for {item}: refused")
            raise ConnectionError("connection refused")
        print(f"  asking for {item}: answered")
        return 7


def main() -> None:
    """Succeed after two failures, then fail permanently."""
    waits = ", ".join(f"{wait:.3f}" for wait in islice(POLICY.waits(seed=1), 3))
    print(f"Waits this policy could take, in seconds: {waits}")

    print("The service comes back in time:")
    print(f"  there are {Inventory(failures=2).stock('lamp')}")

    print("The service stays down:")
    try:
        Inventory(failures=99).stock("lamp")
    except ConnectionError as error:
        print(f"  {type(error).__name__}: {error}")
        print(f"  {error.__notes__[0]}")


if __name__ == "__main__":
    main()
