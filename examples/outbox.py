"""Send a message only if a change is committed: it is part of your own transaction."""

import asyncio
import os

import psycopg

from tarry.service import open_hooks, seal
from tarry.service.outbox import put
from tarry.testing.postgres import throw_away_cluster
from tarry.testing.receiver import Receiver

LOOPBACK = "127.0.0.0/8"


async def set_up(database: str, url: str) -> str:
    """Make tarry's schema, an application and its endpoint, once."""
    async with open_hooks(database, allow_network=(LOOPBACK,)) as hooks:
        acme = await hooks.application("acme")
        await hooks.add_endpoint(acme, url)
        return acme.id


def pay(database: str, acme: str, order: int, *, refused: bool) -> None:
    """Change an order and send a message about it, both or neither."""
    with psycopg.connect(database) as connection, connection.transaction() as transaction:
        connection.execute("INSERT INTO orders (number) VALUES (%s)", (order,))
        payload = b'{"order": %d}' % order
        put(connection, application=acme, event_type="order.paid", payload=payload)
        if refused:
            raise psycopg.Rollback(transaction)


async def deliver(database: str, receiver: Receiver) -> None:
    """Send the committed messages."""
    async with open_hooks(database, allow_network=(LOOPBACK,)) as hooks, hooks.dispatching():
        while not receiver.arrivals:  # noqa: ASYNC110  it is another thread's
            await asyncio.sleep(0.02)


def main() -> None:
    """Use a temporary PostgreSQL server."""
    os.environ["TARRY_SEALING_KEYS"] = seal.generate_key("example")
    with throw_away_cluster(quick=True) as cluster, Receiver(bodies=True) as receiver:
        acme = asyncio.run(set_up(cluster.url, receiver.url))
        with psycopg.connect(cluster.url) as connection:
            connection.execute("CREATE TABLE orders (number int PRIMARY KEY)")
        pay(cluster.url, acme, 7, refused=True)
        pay(cluster.url, acme, 8, refused=False)
        asyncio.run(deliver(cluster.url, receiver))
        print("Arrived:", [arrival.body.decode() for arrival in receiver.arrivals])


if __name__ == "__main__":
    main()
