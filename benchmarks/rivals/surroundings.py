"""What a rival's processes are told by the one who runs them, and what all of them do alike."""

import os
import time
from collections.abc import Iterator

from tarry.cli.bench.job import PAYLOAD, SECRET, message_id, signed_headers

STORE_VARIABLE = "TARRY_RIVAL_STORE"
SINK_VARIABLE = "TARRY_RIVAL_SINK"

CORES = 2
"""All are set up for the two cores the figures are for."""

Job = tuple[str, str, str]
"""Id, payload and secret of a message: what is put into the queue."""


def store_url() -> str:
    """Where the rival keeps its jobs: the URL of a server or the path of a file."""
    return os.environ[STORE_VARIABLE]


def sink_url() -> str:
    """Where deliveries go."""
    return os.environ[SINK_VARIABLE]


def jobs(deliveries: int) -> Iterator[Job]:
    """The jobs to put into the queue."""
    return ((message_id(serial), PAYLOAD, SECRET) for serial in range(deliveries))


def signed(job: Job) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a job that is to be sent now."""
    id, payload, secret = job  # noqa: A001  an id is what it is
    body = payload.encode()
    return body, signed_headers(secret, id, int(time.time()), body)
