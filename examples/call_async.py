"""Retry coroutines: many at once, each attempt with its own time limit."""

import asyncio
import time

import tarry

POLICY = tarry.Policy(
    backoff=tarry.Exponential(base=0.02, cap=0.1),
    attempts=4,
    within=2,
    attempt_timeout=0.05,
)

hung: set[int] = set()


@tarry.retry(POLICY, on=ConnectionError)
async def fetch(page: int) -> str:
    """Fetch a page; every third one hangs the first time it is asked for."""
    if page % 3 == 0 and page not in hung:
        hung.add(page)
        await asyncio.sleep(60)
    await asyncio.sleep(0.01)
    return f"page {page}"


@tarry.retry(POLICY, on=ConnectionError)
async def never_answers() -> None:
    """Hang every time."""
    await asyncio.sleep(60)


async def main() -> None:
    """Fetch twelve pages side by side, then one that never comes."""
    began = time.monotonic()
    pages = await asyncio.gather(*(fetch(page) for page in range(12)))
    took = time.monotonic() - began
    print(f"{len(pages)} pages in {took:.2f} s; {len(hung)} of them were cut off once and retried")

    try:
        await never_answers()
    except tarry.AttemptTimedOut as error:
        print(f"never_answers: {error}")
        print(f"  {error.__notes__[0]}")


if __name__ == "__main__":
    asyncio.run(main())
