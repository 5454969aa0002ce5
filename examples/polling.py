"""Wait for a job to be done: "not yet" is not a failure."""

from itertools import chain, repeat

import tarry

POLICY = tarry.Policy(
    backoff=tarry.Exponential(base=0.01, cap=0.05), attempts=None, within=1, name="polling"
)


class Job:
    """A job that goes through its states, one per question."""

    def __init__(self, *states: str) -> None:
        self._states = chain(states, repeat(states[-1]))

    def state(self) -> str:
        """Ask for the state."""
        found = next(self._states)
        print(f"  {found}")
        return found


def failed(state: str) -> bool | tarry.Failure:
    """Return a permanent failure for a job that has failed: more polls cannot help."""
    return tarry.Failure(tarry.Kind.PERMANENT) if state == "failed" else False


def wait_for(job: Job, policy: tarry.Policy = POLICY) -> str:
    """Poll until it is done."""
    try:
        return policy.call(job.state, until=lambda state: state == "done", on_result=failed)
    except tarry.GaveUp as error:
        return f"{error.last}, after {error.attempts} questions: {error.why}"


def main() -> None:
    """See one job through, one fail, and one get stuck."""
    print("A job that works:")
    print(f"  -> {wait_for(Job('queued', 'running', 'running', 'done'))}")
    print("A job that fails:")
    print(f"  -> {wait_for(Job('queued', 'running', 'failed'))}")
    print("A job that is stuck:")
    print(f"  -> {wait_for(Job('running'), POLICY.replace(attempts=4))}")


if __name__ == "__main__":
    main()
