"""How a server is reached, and by whom, given the address it listens on."""

from ipaddress import ip_address


def only_this_machine(host: str) -> bool:
    """Whether a server that listens on this host cannot be reached from elsewhere."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def from_here(host: str) -> str:
    """The host under which this machine itself finds what listens there."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == 4 else "::1"


def url_from_here(host: str, port: int) -> str:
    """The address to which a client on this machine connects."""
    found = from_here(host)
    return f"http://[{found}]:{port}" if ":" in found else f"http://{found}:{port}"
