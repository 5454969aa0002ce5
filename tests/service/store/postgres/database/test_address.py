import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.errors import SettingsError
from tarry.service.store.postgres.database.address import read, show


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@db.example:5433/hooks",
        "postgres://me:secret@db.example/hooks",
        "postgresql://me:secret@one.example,two.example/hooks?target_session_attrs=primary",
        "postgresql://me@/hooks?host=%2Ftmp%2Fsocket&password=secret",
        "postgresql:///hooks?sslpassword=secret",
    ],
)
def test_a_url_is_understood_and_shown_without_its_password(url: str) -> None:
    address = read(url)
    assert address.database == "hooks"
    assert address.pooler is None
    assert "secret" not in address.shown
    assert "secret" not in repr(address)


def test_the_driver_gets_the_url_as_it_was() -> None:
    url = "postgresql://me:secret@db.example:5433/hooks?sslmode=require"
    assert read(url).url == url


@pytest.mark.parametrize(("value", "meant"), [("true", True), ("1", True), ("OFF", False)])
def test_a_pooler_is_named_in_the_url_and_not_told_to_the_driver(
    value: str, *, meant: bool
) -> None:
    address = read(f"postgresql://me@db.example/hooks?pgbouncer={value}&sslmode=disable")
    assert address.pooler is meant
    assert address.url == "postgresql://me@db.example/hooks?sslmode=disable"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.db",
        "mysql://me:secret@db.example/hooks",
        "sqlite:///hooks.db",
        "postgresql://me:secret@db.example:port/hooks",
        "postgresql://me:secret@[::1/hooks",
        "postgresql://me:secret@db.example/hooks?pgbouncer=perhaps",
        "postgresql://me:secret@db.example/ho%00oks",
        "postgresql:me:secret@db.example/hooks",
        "postgresql://me:1@secret@db.example/hooks",
        "postgresql://me:1/secret@db.example/hooks",
        "postgresql://me:1#secret@db.example/hooks",
        "postgresql://me:1?secret@db.example/hooks",
        "postgresql://me:secret@db.example/hooks?channel_binding=require",
    ],
)
def test_what_is_no_url_of_a_database_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read(url)
    assert refused.value.field == "db"
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_only_libpq_understands_is_not_told_to_the_driver() -> None:
    url = "postgresql://me:secret@db.example/hooks?connect_timeout=10&sslmode=require"
    assert read(f"{url}&keepalives=1&channel_binding=prefer").url == (
        "postgresql://me:secret@db.example/hooks?sslmode=require"
    )


def test_a_url_without_a_host_is_shown_as_it_was_written() -> None:
    assert show("postgresql:///hooks?host=/tmp") == "postgresql:///hooks?host=/tmp"


@given(st.text(alphabet=st.characters(exclude_characters="@/?#:[]"), min_size=1))
def test_no_password_is_ever_shown(password: str) -> None:
    assert show(f"postgresql://me:{password}@db.example/x") == "postgresql://me:***@db.example/x"
