"""Keep a policy in a file: load it, explain it, use it, and see how mistakes are reported."""

from itertools import islice
from pathlib import Path

import tarry

POLICY = tarry.Policy.load(Path(__file__).with_name("policy.toml"))


@tarry.retry(POLICY, on=ConnectionError)
def charge(failures: list[Exception]) -> str:
    """Charge, after some failures."""
    if failures:
        raise failures.pop()
    return "charged"


def main() -> None:
    """Use the policy, and get one wrong."""
    print(f"Policy {POLICY.name!r}: {POLICY.attempts} attempts within {POLICY.within:g} s")
    print(f"  backoff {POLICY.backoff}")
    print(f"  jitter  {POLICY.jitter}")
    waits = ", ".join(f"{wait:.3f}" for wait in islice(POLICY.waits(seed=1), 3))
    print(f"  for example it waits {waits} s")

    print(f"Two failures, then: {charge([ConnectionError(), ConnectionError()])}")

    document = POLICY.to_dict() | {"atempts": 9}
    try:
        tarry.Policy.from_dict(document)
    except tarry.PolicyFormatError as error:
        print(f"A typo: {error}")


if __name__ == "__main__":
    main()
