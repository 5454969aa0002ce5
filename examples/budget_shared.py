"""One retry budget for all callers of a service: retries stop when they do not help."""

import random

import tarry

POLICY = tarry.Policy(attempts=4, backoff=tarry.Fixed(0))
CALLS = 2_000


class Service:
    """A service that fails by chance, and counts its requests."""

    def __init__(self, failing: float) -> None:
        self.failing = failing
        self.requests = 0
        self._chance = random.Random(7)  # noqa: S311  no secret

    def answer(self) -> str:
        """Answer, or fail."""
        self.requests += 1
        if self._chance.random() < self.failing:
            raise ConnectionError("no answer")
        return "answer"


def load(failing: float, budget: tarry.Quota | tarry.Ratio | None) -> str:
    """Call the service often, from two functions that share the budget."""
    service = Service(failing)
    read = tarry.retry(POLICY, on=ConnectionError, budget=budget)(service.answer)
    write = tarry.retry(POLICY, on=ConnectionError, budget=budget)(service.answer)
    failed = 0
    for call in range(CALLS):
        try:
            (read if call % 2 else write)()
        except ConnectionError:
            failed += 1
    return f"{service.requests / CALLS:4.2f} requests per call, {failed / CALLS:6.1%} of calls fail"


def main() -> None:
    """Compare budgets while one call in five fails, and while all do."""
    for failing in (0.2, 1.0):
        print(f"{failing:.0%} of all requests fail:")
        print(f"  no budget    {load(failing, None)}")
        print(f"  Quota()      {load(failing, tarry.Quota())}")
        print(f"  Ratio(0.1)   {load(failing, tarry.Ratio(0.1))}")


if __name__ == "__main__":
    main()
