from tarry.cli.client.client import Server
from tarry.cli.client.names import Names
from tests.cli.scripted import scripted
from tests.cli.shell import KEY, Shell


def test_things_are_called_by_their_owners_ids(shell: Shell) -> None:
    names = Names(Server(shell.url, KEY))
    shop = shell.json("app", "get", "shop")["id"]
    till = shell.json("endpoint", "create", "shop", "https://example.com/a", "--uid", "till")["id"]
    assert (names.app(shop), names.endpoint(shop, till)) == ("shop", "till")
    assert names.url(shop, till) == "https://example.com/a"


def test_without_one_the_id_will_do_and_a_name_helps(shell: Shell) -> None:
    names = Names(Server(shell.url, KEY))
    bar = shell.json("app", "create", "The bar")["id"]
    door = shell.json("endpoint", "create", bar, "https://example.com/b")["id"]
    assert (names.app(bar), names.endpoint(bar, door)) == (f"{bar} (The bar)", door)


def test_what_is_gone_goes_by_its_id_and_is_asked_for_once() -> None:
    gone = (404, b'{"code":"not_found","detail":"x"}')
    with scripted(gone, gone) as (server, script):
        names = Names(server)
        for _ in range(2):
            assert names.app("app_1") == "app_1"
            assert (names.endpoint("app_1", "ep_1"), names.url("app_1", "ep_1")) == ("ep_1", "")
        assert len(script.asked) == 2
