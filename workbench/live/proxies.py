"""`environment_proxy`: the proxy that the environment names for a server, as Go's and so kubectl's rules say."""

from __future__ import annotations

import ipaddress
import os

from workbench.optional import optional

with optional("live"):
    import httpx

__all__ = ["environment_proxy", "is_loopback"]


def environment_proxy(server: str) -> str | None:
    """URL of the proxy for a server by HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY leaves the server out.

    `server`: URL. A name ``localhost`` and a loopback address are never reached by a proxy.

    NO_PROXY is a list of ``*``, host names (with their subdomains), ``.domain`` (subdomains only), IP addresses and
    ranges in CIDR notation, each but ranges with or without a port. Variables in lower case count, too. Source:
    golang.org/x/net/http/httpproxy.
    """
    url = httpx.URL(server)
    host = url.host.rstrip(".").lower()
    port = url.port or (443 if url.scheme == "https" else 80)
    named = _variable(f"{url.scheme}_proxy")
    if not named or is_loopback(host) or _left_out(host, port, _variable("no_proxy")):
        return None
    return named if "://" in named else f"http://{named}"


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine: ``localhost``, or a loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.rstrip(".").lower() == "localhost"


def _variable(name: str) -> str:
    return os.environ.get(name.upper()) or os.environ.get(name) or ""


def _left_out(host: str, port: int, no_proxy: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    return any(_matches(entry.strip().lower(), host, address, port) for entry in no_proxy.split(","))


def _matches(entry: str, host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, port: int) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit() and (":" not in name or name.endswith("]")):
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").rstrip(".")
    if not entry:
        return False
    if address is not None:
        return entry == str(address)
    return host.endswith(entry) if entry.startswith(".") else host == entry or host.endswith(f".{entry}")
