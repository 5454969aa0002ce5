import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import psycopg
import pytest

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.model.listing import Cut
from tarry.service.store.kinds import Applications
from tarry.service.store.postgres.database import address, pool
from tarry.service.store.postgres.database.faults import Stale
from tarry.service.store.postgres.database.pool import Database, Mode, connect
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.postgres import Cluster, throw_away_cluster
from tarry.testing.samples import new_message
from tarry.testing.store_contract.scene import Scene
from tests.service.store.postgres.line import line_to
from tests.service.store.postgres.pooler import pooler_of

pytestmark = pytest.mark.anyio
Connection = Any


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Provide a server for these tests alone, which they kill and pause."""
    with throw_away_cluster(quick=True, settings={"max_connections": "20"}) as cluster:
        yield cluster


@pytest.fixture
async def database(cluster: Cluster) -> AsyncIterator[Database]:
    database = Database(address.read(cluster.url), size=2)
    yield database
    await database.close()


async def select_seven(connection: Connection) -> int:
    return int(await connection.fetchval("SELECT 7"))


async def eventually(database: Database) -> int:
    """Run a query until it succeeds, as callers do after StoreUnavailable."""
    while True:
        try:
            return await database.run(select_seven)
        except StoreUnavailable:
            await asyncio.sleep(pool.DIAL_PAUSE)


async def until(true: Callable[[], object]) -> None:
    """Wait until a condition holds, by polling: the server sends no notification of it."""
    while not true():  # noqa: ASYNC110  see above
        await asyncio.sleep(0.01)


async def test_connections_are_used_again_and_are_not_more_than_allowed(database: Database) -> None:
    busy = await asyncio.gather(*(database.run(_pid) for _ in range(20)))
    assert len(set(busy)) <= 2


@pytest.mark.parametrize("mode", [Mode.WRITE, Mode.SINGLE])
@pytest.mark.parametrize("pooled", ["true", "false"])
async def test_what_the_database_has_for_defaults_does_not_matter(
    cluster: Cluster, mode: Mode, pooled: str
) -> None:
    async def isolation(connection: Connection) -> list[str]:
        return [
            str(await connection.fetchval(f"SHOW {name}"))
            for name in ("transaction_isolation", "jit")
        ]

    with psycopg.connect(cluster.url, autocommit=True) as administrator:
        for default in ("default_transaction_isolation = 'serializable'", "jit = on"):
            administrator.execute(f"ALTER DATABASE postgres SET {default}".encode())
        database = Database(address.read(f"{cluster.url}&pgbouncer={pooled}"))
        try:
            assert await database.run(isolation, mode) == ["read committed", "off"]
        finally:
            administrator.execute("ALTER DATABASE postgres RESET ALL")
            await database.close()


async def test_what_the_work_raises_comes_out_and_the_transaction_is_rolled_back(
    database: Database,
) -> None:
    async def fail(connection: Connection) -> None:
        await connection.execute("CREATE TABLE never (x int)")
        raise StoreError("not today")

    with pytest.raises(StoreError, match="not today"):
        await database.run(fail)
    assert await database.fetch("SELECT to_regclass('never') AS found") == [(None,)]


async def test_a_lost_conflict_is_run_again_and_not_for_ever(
    database: Database, slept: list[float]
) -> None:
    tries = 0

    async def lose(_: Connection) -> None:
        nonlocal tries
        tries += 1
        raise Stale

    with pytest.raises(StoreUnavailable, match="again and again"):
        await database.run(lose)
    assert tries == pool.CONFLICT_RETRIES.attempts
    assert len(slept) == tries - 1


@pytest.mark.parametrize(
    "error", ["serialization_failure", "deadlock_detected"], ids=["40001", "40P01"]
)
@pytest.mark.usefixtures("still_time")
async def test_a_serialization_failure_or_deadlock_costs_the_caller_nothing(
    database: Database, error: str
) -> None:
    tries = 0

    async def lose_once(connection: Connection) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            await connection.execute(f"DO $$ BEGIN RAISE {error}; END $$")
        return tries

    assert await database.run(lose_once) == 2


@pytest.mark.parametrize(
    ("setting", "statement"),
    [
        ("statement_timeout", "SELECT pg_sleep(5)"),
        ("lock_timeout", "LOCK TABLE held"),
        ("default_transaction_read_only", "CREATE TABLE never (x int)"),
    ],
)
async def test_what_the_server_cuts_short_is_unavailable_and_then_works_again(
    cluster: Cluster, database: Database, setting: str, statement: str
) -> None:
    async def run(connection: Connection) -> None:
        if setting.endswith("timeout"):
            await connection.execute(f"SET LOCAL {setting} = '20ms'")
        else:
            await connection.execute("SET TRANSACTION READ ONLY")
        await connection.execute(statement)

    with psycopg.connect(cluster.url) as holder:
        holder.execute("CREATE TABLE held (x int)")
        holder.commit()
        holder.execute("LOCK TABLE held")
        with pytest.raises(StoreUnavailable):
            await database.run(run)
        holder.rollback()
        holder.execute("DROP TABLE held")
    assert await database.run(select_seven) == 7


async def test_it_comes_back_by_itself_after_the_server_was_killed(
    cluster: Cluster, database: Database
) -> None:
    assert await database.run(select_seven) == 7
    cluster.kill()
    try:
        with pytest.raises(StoreUnavailable) as lost:
            await database.run(select_seven)
        assert lost.value.retry_after > 0
    finally:
        cluster.start()
    assert await asyncio.wait_for(eventually(database), 120) == 7


async def test_a_server_that_is_down_is_not_called_by_a_crowd(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialled = 0

    async def refuse(*_: object, **__: object) -> None:
        nonlocal dialled
        dialled += 1
        raise StoreUnavailable("nobody there")

    with monkeypatch.context() as patched:
        patched.setattr(pool, "connect", refuse)
        answers = await asyncio.gather(
            *(database.run(select_seven) for _ in range(50)), return_exceptions=True
        )
    assert all(isinstance(answer, StoreUnavailable) for answer in answers)
    assert dialled <= 2
    assert await asyncio.wait_for(eventually(database), 120) == 7


async def test_a_connection_that_an_administrator_ended_is_replaced(
    cluster: Cluster, database: Database
) -> None:
    pid = await database.run(_pid)
    with psycopg.connect(cluster.url) as administrator:
        administrator.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    assert await asyncio.wait_for(eventually(database), 120) == 7


async def test_a_server_with_no_connection_to_spare_is_unavailable(cluster: Cluster) -> None:
    taken = [psycopg.connect(cluster.url) for _ in range(20)]
    database = Database(address.read(cluster.url))
    try:
        with pytest.raises(StoreUnavailable, match="no connection to spare"):
            await database.run(select_seven)
    finally:
        for connection in taken:
            connection.close()
        await database.close()


async def test_a_server_that_hangs_is_given_up_and_found_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(address.read(cluster.url), size=1)
    monkeypatch.setattr(pool, "ANSWER_WITHIN", 0.5)  # a connection keeps what it began with
    assert await eventually(database) == 7
    monkeypatch.setattr(pool, "CONNECT_WITHIN", 0.2)
    cluster.pause()
    try:
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="in time"):
                await database.run(select_seven)
    finally:
        cluster.resume()
    monkeypatch.undo()
    assert await asyncio.wait_for(eventually(database), 120) == 7
    await database.close()


async def test_a_server_that_became_a_standby_is_left_with_all_connections(
    database: Database,
) -> None:
    before = set(await asyncio.gather(database.run(_pid), database.run(_pid)))

    async def write_on_a_standby(connection: Connection) -> None:
        await connection.execute("SET TRANSACTION READ ONLY")
        await connection.execute("CREATE TABLE never (x int)")

    with pytest.raises(StoreUnavailable, match="standby"):
        await database.run(write_on_a_standby)
    assert before.isdisjoint(await asyncio.gather(database.run(_pid), database.run(_pid)))


async def test_a_schema_that_changes_meanwhile_disturbs_nobody(
    cluster: Cluster, database: Database
) -> None:
    async def look(connection: Connection) -> int:
        (row,) = await connection.fetch("SELECT * FROM growing")
        return len(row)

    with psycopg.connect(cluster.url, autocommit=True) as administrator:
        administrator.execute("CREATE TABLE growing AS SELECT 1 AS a")
        try:
            assert await database.run(look) == 1
            administrator.execute("ALTER TABLE growing ADD COLUMN b int")
            assert await database.run(look) == 2
        finally:
            administrator.execute("DROP TABLE growing")


async def test_whoever_stops_waiting_leaves_nothing_behind(
    cluster: Cluster, database: Database
) -> None:
    waiting = asyncio.create_task(database.fetch("SELECT pg_sleep(60)"))
    with psycopg.connect(cluster.url, autocommit=True) as watch:
        await until(lambda: _sleeping(watch))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await database.run(select_seven) == 7


def _sleeping(watch: psycopg.Connection[Any]) -> int:
    sleepers = watch.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(60%'"
    ).fetchone()
    return int(sleepers[0]) if sleepers else 0


async def _pid(connection: Connection) -> int:
    return int(await connection.fetchval("SELECT pg_backend_pid()"))


@pytest.mark.parametrize("moment", ["BEGIN", "pg_backend_pid", "COMMIT"])
async def test_a_connection_that_is_lost_while_it_is_looked_at_is_unavailable(
    cluster: Cluster, moment: str
) -> None:
    async with line_to(cluster.url) as (line, url):
        line.cut_before = moment.encode()
        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1"):
            await connect(address.read(url), pooler=None)


async def test_what_the_driver_did_not_expect_is_a_lost_connection(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose(*_: object, **__: object) -> None:
        raise asyncpg.InternalClientError("cannot switch to state 15")

    monkeypatch.setattr(asyncpg, "connect", lose)
    with pytest.raises(StoreUnavailable, match="no PostgreSQL answers"):
        await connect(address.read(cluster.url), pooler=False)


# --- Was it committed? --------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["before", "behind"])
async def test_an_add_whose_commit_was_not_answered_is_not_accepted(
    cluster: Cluster, moment: str
) -> None:
    async with line_to(cluster.url) as (line, url):
        store = await PostgresStore.open(url, migrate=True)
        scene = await Scene.set_up(store)
        new = new_message(scene.application, key=f"cut {moment}", fingerprint=b"1")
        setattr(line, f"cut_{moment}", b"COMMIT\0")
        with pytest.raises(StoreUnavailable):
            await store.add([new])
        setattr(line, f"cut_{moment}", b"")
        # A caller tries again, and the message must not be accepted twice.
        (answer,) = await store.add([new])
        assert getattr(answer, "repeated", None) is (moment == "behind")
        assert len(await scene.due()) == 1
        await store.close()
    with psycopg.connect(cluster.url) as connection:
        connection.execute("DROP SCHEMA tarry CASCADE")


@pytest.mark.slow
async def test_a_commit_that_did_not_wait_for_its_standby_is_not_accepted() -> None:
    settings = {"synchronous_standby_names": "nobody"}
    with throw_away_cluster(settings=settings) as cluster:
        database = Database(address.read(cluster.url))
        with psycopg.connect(cluster.url, autocommit=True) as administrator:
            administrator.execute("SET synchronous_commit = local")
            administrator.execute("CREATE TABLE kept (x int)")
            writing = asyncio.create_task(database.execute("INSERT INTO kept VALUES (1)"))
            await until(lambda: _cancel_the_wait(administrator))
            with pytest.raises(StoreUnavailable, match="standby"):
                await writing
            # The row was committed all the same: the error says only that this is not certain.
            assert administrator.execute("SELECT count(*) FROM kept").fetchone() == (1,)
        assert await database.run(select_seven, Mode.READ) == 7
        await database.close()


@pytest.mark.parametrize("single", [True, False])
async def test_a_warning_at_the_commit_is_taken_for_a_missing_standby_in_any_language(
    database: Database,
    single: bool,  # noqa: FBT001  a parameter
) -> None:
    warning = "RAISE WARNING 'Warten auf synchrone Replikation' USING DETAIL = 'nur hier'"
    warn = f"DO $$ BEGIN {warning}; END $$"
    at_commit = (
        "CREATE TEMP TABLE late (x int);"  # noqa: S608  our own words
        " CREATE FUNCTION pg_temp.warn() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {warning}; RETURN NULL; END $$;"
        " CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON late INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION pg_temp.warn(); INSERT INTO late VALUES (1)"
    )

    async def write(connection: Connection) -> None:
        await connection.execute(warn if single else at_commit)

    with pytest.raises(StoreUnavailable, match=r"standby.*Warten"):
        await database.run(write, Mode.SINGLE if single else Mode.WRITE)
    assert await database.run(select_seven) == 7


async def test_a_warning_of_another_kind_means_nothing(database: Database) -> None:
    hint = "RAISE WARNING 'must be vacuumed' USING HINT = 'Execute a database-wide VACUUM.'"

    async def write(connection: Connection) -> None:
        await connection.execute(f"DO $$ BEGIN {hint}; END $$")

    await database.run(write, Mode.SINGLE)


async def test_a_database_of_another_encoding_is_refused(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url, autocommit=True) as administrator:
        administrator.execute(
            "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    with pytest.raises(StoreError, match="keeps text as LATIN1"):
        await connect(address.read(cluster.url_of("latin")), pooler=None)


async def test_a_warning_before_the_commit_means_nothing(database: Database) -> None:
    async def write(connection: Connection) -> int:
        await connection.execute("DO $$ BEGIN RAISE WARNING 'by the way'; END $$")
        return await select_seven(connection)

    assert await database.run(write) == 7


async def test_what_is_committed_is_on_disk_whatever_the_role_says(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url, autocommit=True) as administrator:
        administrator.execute("ALTER ROLE CURRENT_USER SET synchronous_commit = off")
        try:
            async with pooler_of(cluster.url) as (_, through):
                for url in (cluster.url, through):
                    database = Database(address.read(url))
                    for mode in Mode:
                        assert await database.run(_synchronous, mode) == "on"
                    await database.close()
        finally:
            administrator.execute("ALTER ROLE CURRENT_USER RESET synchronous_commit")


async def _synchronous(connection: Connection) -> str:
    return str(await connection.fetchval("SHOW synchronous_commit"))


def _cancel_the_wait(administrator: psycopg.Connection[Any]) -> bool:
    cancelled = administrator.execute(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    )
    return bool(cancelled.fetchall())


# --- Poolers ------------------------------------------------------------------------------------


async def test_a_pooler_in_between_is_noticed(cluster: Cluster) -> None:
    async with pooler_of(cluster.url) as (_, url):
        connection = await connect(address.read(url), pooler=None)
        assert connection.pooler is True
        await connection.close()
    connection = await connect(address.read(cluster.url), pooler=None)
    assert connection.pooler is False
    await connection.close()


async def test_the_whole_store_works_through_a_pooler_in_transaction_mode(
    cluster: Cluster,
) -> None:
    async with pooler_of(cluster.url) as (pooler, url):
        store = await PostgresStore.open(url, migrate=True)
        scene = await Scene.set_up(store)
        for many in (1, 50):
            calls = [store.add([new_message(scene.application)]) for _ in range(many)]
            await asyncio.gather(*calls)
        (application,) = (
            await store.page(Applications(scene.application.environment), Cut())
        ).entries
        assert application == scene.application
        due = await scene.due()
        assert len(due) == 51
        assert await store.counts(scene.lane) == {"ready": 51}
        assert pooler.transactions > 10
        await store.close()
    with psycopg.connect(cluster.url) as connection:
        connection.execute("DROP SCHEMA tarry CASCADE")


# --- What cannot be opened ----------------------------------------------------------------------


async def opened(url: str) -> StoreError:
    with pytest.raises(StoreError) as refused:
        await PostgresStore.open(url)
    assert "\n" not in str(refused.value)
    assert "hunter2" not in str(refused.value)
    return refused.value


async def test_a_host_where_nothing_answers_is_named() -> None:
    error = await opened("postgresql://me:hunter2@127.0.0.1:1/hooks")
    assert isinstance(error, StoreUnavailable)
    assert "127.0.0.1:1/hooks" in str(error)


async def test_a_host_that_is_not_known_is_named() -> None:
    error = await opened("postgresql://me:hunter2@no-such-host.invalid/hooks")
    assert "no-such-host.invalid" in str(error)


async def test_a_database_that_is_missing_is_named(cluster: Cluster) -> None:
    error = await opened(cluster.url_of("nothing_here"))
    assert "there is no database 'nothing_here'" in str(error)


async def test_a_wrong_password_is_told_and_not_shown(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url, autocommit=True) as administrator:
        administrator.execute("CREATE ROLE me LOGIN PASSWORD 'right'")
    rules = cluster.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all me scram-sha-256\n{before}")
    try:
        with psycopg.connect(cluster.url, autocommit=True) as administrator:
            administrator.execute("SELECT pg_reload_conf()")
        url = cluster.url.replace("postgres@", "me:hunter2@")
        while True:
            try:
                (await asyncpg.connect(url)).terminate()  # until the new rules are read
            except asyncpg.InvalidPasswordError:
                break
        error = await opened(url)
        assert not isinstance(error, StoreUnavailable)
        assert "refuses the user or the password" in str(error)
    finally:
        rules.write_text(before)


async def test_a_closed_store_says_so(cluster: Cluster) -> None:
    database = Database(address.read(cluster.url))
    await database.run(select_seven)
    await database.close()
    with pytest.raises(StoreError, match="closed"):
        await database.run(select_seven)
