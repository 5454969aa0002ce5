import re
from collections.abc import Iterator

import psycopg
import pytest

from tarry.service.model.lane import Stream, Want
from tarry.service.store.postgres.queries import SQL
from tarry.testing.samples import NOON
from tarry.testing.store_contract.scene import PLENTY_OF_BYTES, Scene

pytestmark = pytest.mark.anyio

BACKLOG = 100_000
LANES = 4


@pytest.fixture(scope="module")
def backlog(tarry_database: str) -> Iterator[str]:
    """Provide a hundred thousand deliveries in four lanes, equally many in each state."""
    with psycopg.connect(tarry_database) as connection:
        connection.execute(
            "INSERT INTO tarry.lane (number, application, shard, added)"
            " SELECT n, 'app', 1, %s FROM generate_series(1, %s) n",
            [BACKLOG, LANES],
        )
        connection.execute("INSERT INTO tarry.lane_state (lane) SELECT number FROM tarry.lane")
        connection.execute(
            "INSERT INTO tarry.message (id, application, event_type, payload, channels, tags,"
            " accepted_at, lanes, seqs)"
            " SELECT 'msg_' || n, 'app', 'a', 'x', '{}', '{}', n, '{}', '{}'"
            " FROM generate_series(1, %s) n",
            [BACKLOG],
        )
        connection.execute(
            "INSERT INTO tarry.delivery (lane, seq, message, state, reason, due_at, accepted_at)"
            " SELECT n %% %s + 1, n, 'msg_' || n, s.state, 'backoff',"
            " CASE s.state WHEN 'waiting' THEN n END, n FROM generate_series(1, %s) n,"
            " LATERAL (SELECT (ARRAY['ready', 'waiting', 'delivered', 'failed'])[n / 7 %% 4 + 1]"
            " AS state) s",
            [LANES, BACKLOG],
        )
        connection.execute(
            "INSERT INTO tarry.attempt (lane, id, message, number, at, took, url, detail, body,"
            " trigger, counted, policy, now, draw, decision)"
            " SELECT lane, 'atmpt_' || seq, message, 1, seq, 0, '', '', '', '', true, '', 0, 0, ''"
            " FROM tarry.delivery"
        )
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")
    yield tarry_database
    with psycopg.connect(tarry_database) as connection:
        connection.execute(
            "TRUNCATE tarry.delivery, tarry.message, tarry.lane, tarry.lane_state, tarry.attempt"
        )


def plan(url: str, query: str, *arguments: object) -> str:
    """Return the server's generic plan of a query, which it uses for repeated queries."""
    values = ", ".join(_literal(argument) for argument in arguments)
    with psycopg.connect(url) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan")
        connection.execute("SET enable_seqscan = off")  # as the store does
        connection.execute(f"PREPARE asked AS {SQL[query]}".encode())
        rows = connection.execute(
            f"EXPLAIN (ANALYZE, BUFFERS) EXECUTE asked ({values})".encode()
        ).fetchall()
        connection.rollback()
    return "\n".join(line for (line,) in rows)


def _literal(value: object) -> str:
    if isinstance(value, list):
        return f"ARRAY[{', '.join(map(_literal, value))}]"
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


def buffers(plan_text: str) -> int:
    """Return how many pages a query read."""
    first = re.search(r"Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?", plan_text)
    assert first, plan_text
    return sum(int(pages or 0) for pages in first.groups())


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["ready", "waiting", "early", "resend"])
def test_the_next_ones_are_found_without_a_look_at_the_others(backlog: str, stream: str) -> None:
    plan_text = plan(
        backlog, "fetch", [1], [stream], [10], [0], [2**62], [0.0], BACKLOG, PLENTY_OF_BYTES
    )
    assert "Seq Scan on delivery" not in plan_text
    assert "Seq Scan on message" not in plan_text
    assert buffers(plan_text) < 200


@pytest.mark.slow
def test_a_settlement_goes_to_its_row(backlog: str) -> None:
    plan_text = plan(
        backlog,
        "settle",
        *([2], [1], ["msg_1"], [0], ["delivered"], ["delivered"], [1], [1], [1.0], [1.0], [1.0]),
        [3],
    )
    assert "Seq Scan on delivery" not in plan_text
    assert "delivery_pkey" in plan_text
    assert buffers(plan_text) < 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("expire", (1, 500.0, 1e9, 10, "too old")),
        ("rest", ([1], [0])),
        ("rest_doze", ([1], [0])),
        ("read_undelivered", ("app", 1, 50_000, 20, 2**62)),
        ("advance_failed", (1, 50_000, 0.0, None, 20)),
        ("advance_wanted", (1, "app", 99_990.0, "", 1e9, 20, 1e9, True)),
        ("advance_payloads", ("app", 99_990.0, "", 1e9, 20)),
        ("advance_live", (1, 50_000, 0.0, None, 20)),
        ("sweep_messages", (500.0, 100.0, "", 10, "", "")),
        ("sweep_full", (500.0, 100.0, "", 10, "", "")),
        ("sweep_payloads", (["msg_1", "msg_2"],)),
        ("sweep_keys", (500.0, 10)),
        ("collect_turn", ("", 50)),
        ("collect", (["app"], 10)),
        ("read_attempts", ("msg_1",)),
    ],
)
def test_nothing_else_reads_a_whole_table_either(
    backlog: str, query: str, arguments: tuple[object, ...]
) -> None:
    plan_text = plan(backlog, query, *arguments)
    assert "Seq Scan on delivery" not in plan_text
    assert "Seq Scan on message" not in plan_text
    assert buffers(plan_text) < 1_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("advance_wanted", (1, "app", 99_990.0, "msg_99990", 99_995.0, 20, 1e9, True)),
        ("advance_payloads", ("app", 99_990.0, "msg_99990", 99_995.0, 20)),
    ],
)
def test_a_replay_looks_at_no_message_from_before_its_time_or_after(
    backlog: str, query: str, arguments: tuple[object, ...]
) -> None:
    plan_text = plan(backlog, query, *arguments)
    assert "application_accepted_at_id_idx" in plan_text
    assert buffers(plan_text) < 100


async def test_lanes_that_are_gone_and_wants_of_nothing_bring_nothing(scene: Scene) -> None:
    want = Want(lane=10**9, stream=Stream.READY, limit=5)
    fetched = await scene.store.fetch([want], now=NOON, most_bytes=PLENTY_OF_BYTES)
    assert (fetched.due, fetched.added) == ([], {})
    assert (await scene.store.fetch([], now=NOON, most_bytes=PLENTY_OF_BYTES)).due == []
    assert await scene.store.lanes([10**9]) == []
