import subprocess
import sys

import pytest

WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None
try:
    __import__("tarry.call.http." + sys.argv[1])
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.parametrize("client", ["httpx", "httpx2", "requests", "aiohttp"])
def test_an_adapter_without_its_client_says_what_to_install(client: str) -> None:
    command = [sys.executable, "-c", WITHOUT, client]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = f"tarry.call.http.{client} needs {client}: pip install 'tarry[{client}]'\n"
    assert done.stdout == told
