"""One process of a rival: `python -m rivals.play MODULE enqueue N`, or `... MODULE work`.

Enqueuing prints the seconds it took; working goes on until it is told to stop.
"""

import sys
from importlib import import_module


def main(module: str, part: str, deliveries: str = "0") -> None:
    """Play the part."""
    rival = import_module(f"rivals.{module}")
    if part == "enqueue":
        print(rival.enqueue(int(deliveries)))
    else:
        rival.work()


if __name__ == "__main__":
    main(*sys.argv[1:])
