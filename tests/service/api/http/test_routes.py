import tracemalloc

import pytest

from tarry.service.api.http.routes import Match, Routes
from tarry.service.api.open import operations


@pytest.fixture(scope="module")
def routes() -> Routes:
    return Routes(operations())


def test_every_operation_is_found_by_its_own_path(routes: Routes) -> None:
    for operation in operations():
        match = routes.find(operation.method, operation.path.replace("{", "a-").replace("}", ""))
        assert isinstance(match, Match), operation.path
        assert match.operation is operation
        assert list(match.names) == [
            part.strip("{}") for part in operation.path.split("/") if part.startswith("{")
        ]


def test_what_stands_for_a_name_is_given(routes: Routes) -> None:
    match = routes.find("GET", "/app/shop/")
    assert isinstance(match, Match)
    assert match.names == {"app_id": "shop"}


def test_a_fixed_word_comes_before_a_name(routes: Routes) -> None:
    match = routes.find("POST", "app/batch/msg/batch")
    assert isinstance(match, Match)
    assert match.operation.name == "v1.message.create-batch"
    assert match.names == {"app_id": "batch"}


def test_a_path_that_was_found_is_found_again_and_not_remembered_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tarry.service.api.http.routes.MOST_CACHED", 2)
    routes = Routes(operations())
    for _ in range(2):
        for name in ("one", "two", "three"):
            match = routes.find("GET", f"app/{name}")
            assert isinstance(match, Match)
            assert match.names == {"app_id": name}


def test_another_method_is_told_those_that_are_there(routes: Routes) -> None:
    assert routes.find("BREW", "app/shop") == frozenset({"GET", "HEAD", "PUT", "PATCH", "DELETE"})
    assert routes.find("HEAD", "auth/logout") == frozenset({"POST"})


def test_a_head_is_for_what_can_be_got(routes: Routes) -> None:
    assert routes.find("HEAD", "app/shop") == routes.find("GET", "app/shop")


@pytest.mark.parametrize("path", ["", "/", "nothing", "app//msg", "app/shop/msg/batch/more"])
def test_an_unknown_path_has_no_methods(routes: Routes, path: str) -> None:
    assert routes.find("POST", path) == frozenset()


def test_the_same_operation_is_not_declared_twice() -> None:
    with pytest.raises(ValueError, match="GET /app is declared twice"):
        Routes(operations() * 2)


def test_long_paths_are_found_and_not_remembered() -> None:
    routes = Routes(operations())
    tracemalloc.start()
    for number in range(20):
        assert isinstance(routes.find("GET", f"app/{number}" + "x" * 50_000), Match)
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert memory < 500_000, "twenty of them hold a million characters"
