"""Names of the records about an origin (scheme, host and port)."""


def group_name(origin: str, application: str) -> str:
    """Return the name of the record about one application's failures at an origin.

    The record about the failures of all applications has the origin itself as its name.

    >>> group_name("https://hooks.example:443", "app_1")
    'https://hooks.example:443 app_1'
    """
    return f"{origin} {application}"
