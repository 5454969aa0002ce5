"""The database's URL: parse it, and show it without its password."""

from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from msgspec import Struct

from tarry.errors import SettingsError

SCHEMES = ("postgresql", "postgres")
URL_FORM = "a URL such as postgresql://user:password@host:5432/database"
ENCODED_URL_FORM = f"{URL_FORM}, with %40 for @, %2F for /, %23 for # and %3F for ? in the password"
HIDDEN = "***"
POOLER = "pgbouncer"
"""In the URL's query, ``pgbouncer=true`` says that a pooler in transaction mode is in between."""

LIBPQ_ONLY = frozenset(
    {
        "connect_timeout",
        "fallback_application_name",
        "gssencmode",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "load_balance_hosts",
        "sslcompression",
        "sslsni",
        "tcp_user_timeout",
    }
)
"""Parameters that tune libpq, from URLs for other programs. Our driver would send them to the
server, which knows none of them. Time limits are tarry's own."""
BINDING = "channel_binding"
"""It is ignored too, except that `require` is an error, because the driver does not support it."""

_YES = {"1", "true", "on", "yes"}
_NO = {"0", "false", "off", "no"}


class Address(Struct, frozen=True):
    """A database's URL, without tarry's own parameters. `pooler` is None if it is not given."""

    url: str
    shown: str
    database: str
    pooler: bool | None = None

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def read(url: str) -> Address:
    """Read a database URL; SettingsError says what is wrong with it, without its password."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError if the port is not a number
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError as error:
        raise SettingsError("db", _without_userinfo(url), URL_FORM) from error
    if "://" not in url:
        raise SettingsError("db", f"{url.partition(':')[0]}:...", URL_FORM)
    if parts.scheme not in SCHEMES or "\0" in unquote(url):
        raise SettingsError("db", show(url), URL_FORM)
    _refuse_ambiguous(url, parts, query)
    pooler_values = [value.lower() for name, value in query if name == POOLER]
    if any(value not in _YES | _NO for value in pooler_values):
        raise SettingsError("db", show(url), f"a URL with {POOLER}=true or {POOLER}=false")
    if (BINDING, "require") in query:
        needed = f"a URL without {BINDING}=require: the driver cannot; sslmode=verify-full can"
        raise SettingsError("db", show(url), needed)
    unsent = LIBPQ_ONLY | {POOLER, BINDING}
    sent_query = urlencode([(name, value) for name, value in query if name not in unsent])
    return Address(
        parts._replace(query=sent_query).geturl(),
        show(url),
        unquote(parts.path.lstrip("/")),
        pooler_values[-1] in _YES if pooler_values else None,
    )


def show(url: str) -> str:
    """Return the URL without its password.

    >>> show("postgresql://me:secret@localhost/hooks")
    'postgresql://me:***@localhost/hooks'
    """
    parts = urlsplit(url)
    account, at, hosts = parts.netloc.rpartition("@")
    if ":" in account:
        account = f"{account.partition(':')[0]}:{HIDDEN}"
    query: list[tuple[str, object]] = [
        (name, HIDDEN if "pass" in name.lower() else value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    shown_query = f"?{urlencode(query, safe='/*,')}" if query else ""
    return f"{parts.scheme}://{account}{at}{hosts}{parts.path}{shown_query}"


def _refuse_ambiguous(url: str, parts: SplitResult, query: list[tuple[str, str]]) -> None:
    """Refuse a URL whose password may contain an unescaped character and so be cut short."""
    split = parts.netloc.count("@") > 1 or "@" in parts.path or bool(parts.fragment)
    if split or any("@" in name for name, _ in query):
        raise SettingsError("db", _without_userinfo(url), ENCODED_URL_FORM)


def _without_userinfo(url: str) -> str:
    """Return the URL without its user, password and query, even if it cannot be parsed."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"
