"""Under which names it is recorded what is known of an origin (scheme, host and port)."""


def group_name(origin: str, application: str) -> str:
    """Return the name under which the trouble of one application at an origin is recorded.

    The trouble of all applications is recorded under the origin itself.

    >>> group_name("https://hooks.example:443", "app_1")
    'https://hooks.example:443 app_1'
    """
    return f"{origin} {application}"
