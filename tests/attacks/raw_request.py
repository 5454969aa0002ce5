"""Send a request as bytes, because HTTP clients refuse to send what attackers send."""

import asyncio
from urllib.parse import urlsplit


async def answer_to(url: str, *lines: str, body: bytes = b"") -> tuple[int, str]:
    """Send these lines as the head of a request; return the status and the whole answer."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        head = "\r\n".join([*lines, "connection: close", "", ""])
        writer.write(head.encode("latin-1") + body)
        text = (await reader.read()).decode("latin-1")
    finally:
        writer.close()
    return int(text.split(" ", 2)[1]), text
