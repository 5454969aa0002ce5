"""The doctor's check of the rules for outgoing requests."""

from ipaddress import ip_address, ip_network

from tarry.cli.doctor.finding import Finding, advice, ok, wrong
from tarry.errors import SettingsError

METADATA = ip_address("169.254.169.254")
"""Where cloud providers serve a machine's credentials."""


def outgoing(networks: tuple[str, ...], ports: str) -> Finding:
    """Check which addresses the rules allow."""
    from tarry.service.wire.egress import Egress  # noqa: PLC0415  it needs the extra

    try:
        Egress.of(networks, ports=ports)
    except SettingsError as error:
        return wrong("outgoing", str(error))
    private = ", ".join(networks) or "none"
    summary = f"public addresses; private networks: {private}; ports: {ports}"
    for network in networks:
        if METADATA in ip_network(network, strict=False):
            return advice(
                "outgoing",
                f"{summary}. {network} includes {METADATA}, where clouds serve credentials",
            )
    return ok("outgoing", summary)
