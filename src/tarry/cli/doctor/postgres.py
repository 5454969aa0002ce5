"""The doctor's checks of a PostgreSQL server's settings."""

from tarry.cli.doctor.finding import Finding, advice, ok, wrong
from tarry.errors import StoreError

OLDEST = 130_000
"""The oldest supported version, as PostgreSQL numbers them."""
FEW_CONNECTIONS = 20
"""A server that allows fewer connections than this soon runs out: every process takes some."""
NEARLY_ALL = 0.8
ASK = """
SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_version') AS named,
       current_setting('synchronous_commit') AS commit,
       current_setting('fsync') AS fsync,
       current_setting('max_connections')::int AS most,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used
"""


async def of_server(db: str) -> list[Finding]:
    """Check the server's version, its durability settings, and its connections."""
    from tarry.service.build import ask_server  # noqa: PLC0415  it needs the extra

    try:
        row = await ask_server(db, ASK)
    except StoreError as error:
        return [wrong("version", f"the server cannot be queried: {error}")]
    return judged(**row)


def judged(  # noqa: PLR0913  one argument per setting
    *, version: int, named: str, commit: str, fsync: str, most: int, used: int
) -> list[Finding]:
    """Turn the server's settings into findings."""
    findings = [
        ok("version", f"PostgreSQL {named}")
        if version >= OLDEST
        else wrong("version", f"PostgreSQL {named}: version 13 or newer is needed")
    ]
    if fsync == "off":
        findings.append(
            wrong(
                "commit", "fsync is off: a crash can lose accepted messages or damage the database"
            )
        )
    elif commit == "off":
        problem = (
            "synchronous_commit is off: tarry turns it on for itself, other programs can lose data"
        )
        findings.append(advice("commit", problem))
    else:
        findings.append(ok("commit", f"synchronous_commit is {commit}"))
    word = advice if most < FEW_CONNECTIONS or used > most * NEARLY_ALL else ok
    findings.append(word("connections", f"{used} of {most} in use"))
    return findings
