import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def own_folder(folder: object) -> None:
    """No settings file of somebody else's is read."""
    _ = folder
