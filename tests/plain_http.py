"""How tests ask a server on this machine: `httpx.get(url, **PLAIN)`.

Certificates of all the world take long to load, for each client anew, and nobody looks at them
here; and a busy machine may be slow to answer.
"""

from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Any

PLAIN: dict[str, Any] = {"verify": SSLContext(PROTOCOL_TLS_CLIENT), "timeout": 60.0}
