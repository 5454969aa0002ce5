"""A stranger opens connections and sends nothing more, so that no descriptors are left for others.

Measured with 400 connections to a server that may have 200 file descriptors: before, each attempt
to deliver failed for lack of descriptors, and nobody else reached the API. Where nobody raises the
limit, a process may have 1,024.
"""

import resource
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from tests.audit.canary import Markers
from tests.audit.traffic import PATIENCE, Service, receiving
from tests.plain_http import PLAIN

DESCRIPTORS = 200
CONNECTIONS = 400


@pytest.mark.parametrize(
    "request_part",
    [b"", b"POST /api/v1", b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"],
    ids=["nothing", "half a head", "a whole request"],
)
def test_idle_connections_keep_out_neither_deliveries_nor_clients(
    tmp_path: Path, request_part: bytes
) -> None:
    markers, folder = Markers.new(), tmp_path / "service"
    folder.mkdir()
    with receiving(b"thanks") as receiver, ExitStack() as stack:
        service = Service(folder, markers)
        stack.callback(service.end)
        url = service.url()
        limits = (DESCRIPTORS, DESCRIPTORS)
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, limits)
        for _ in range(CONNECTIONS):
            address = ("127.0.0.1", int(url.rpartition(":")[2]))
            connection = stack.enter_context(socket.create_connection(address))
            with suppress(ConnectionError):
                connection.sendall(request_part)
        headers = {"authorization": f"Bearer {markers.api_key}"}
        client = stack.enter_context(httpx.Client(base_url=url, headers=headers, **PLAIN))
        api = "/api/v1/app"
        assert client.post(api, json={"name": "shop", "uid": "shop"}).status_code == 201
        endpoint = {"url": f"{receiver}/ok"}
        assert client.post(f"{api}/shop/endpoint", json=endpoint).status_code == 201
        message = {"eventType": "paid", "payload": {}}
        sent = client.post(f"{api}/shop/msg", json=message).json()["id"]
        until = time.monotonic() + PATIENCE
        while not (attempts := client.get(f"{api}/shop/attempt/msg/{sent}").json()["data"]):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert [attempt["response"] for attempt in attempts] == ["thanks"]
