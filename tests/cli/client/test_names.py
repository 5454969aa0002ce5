from tarry.cli.client.client import Server
from tarry.cli.client.names import Names, Vocabulary
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


def test_the_server_has_the_words_for_people(shell: Shell) -> None:
    vocabulary = Vocabulary(Server(shell.url, KEY))
    assert vocabulary.label("reasons", "lane open") == "endpoint down"
    assert vocabulary.meaning("lanes", "closed") == "Messages are sent as they arrive."
    assert vocabulary.name("reasons", " Endpoint Down") == "lane open"
    assert vocabulary.name("reasons", "lane open") == "lane open"
    assert vocabulary.label("reasons", "of a later version") == "of a later version"


def test_without_words_the_names_will_do_and_the_server_is_asked_once() -> None:
    with scripted((404, b'{"code":"not_found","detail":"x"}')) as (server, script):
        vocabulary = Vocabulary(server)
        assert vocabulary.label("reasons", "lane open") == "lane open"
        assert vocabulary.meaning("reasons", "lane open") == ""
        assert len(script.asked) == 1
