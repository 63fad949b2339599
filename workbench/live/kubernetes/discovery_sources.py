"""How the operator asks the sources of topology discovery that have an endpoint: UFM and RoCE."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from workbench.control.reconcilers.discovery import Ask
from workbench.control.store import Object
from workbench.errors import InputError
from workbench.live.credentials import Credentials, credentials_of_secret
from workbench.live.fabric import UfmServer, discover_links
from workbench.live.http import Access, checked_url, shown_url
from workbench.live.proxies import is_loopback
from workbench.objects.discovery import DiscoverySource
from workbench.objects.fields import get_bool, get_text
from workbench.optional import optional
from workbench.topology.discovery.result import DiscoveryResult

with optional("live"):
    import httpx

__all__ = ["discovery_asks"]


def discovery_asks(*, plain_http: bool = False) -> dict[str, Ask]:
    """Functions that ask the sources ``ufm`` and ``roce``, by name.

    Each asks ``config.endpoint`` of its source, and nothing else, in a thread of its own; without an endpoint it raises
    InputError. User name and password come from the Secret that the source's ``credentials.secretRef`` names: UFM needs
    them, for RoCE they may be missing. ``config.insecureSkipVerify`` is as in Volcano.

    `plain_http`: whether a user name and a password may be sent over http to another machine; upstream does that.
    """
    return {"ufm": partial(_ask_ufm, plain_http), "roce": partial(_ask_roce, plain_http)}


def _ask_ufm(plain_http: bool, source: DiscoverySource, secret: Object | None) -> Future[DiscoveryResult]:
    access = _access(source, secret)
    if access.credentials is None:
        raise InputError(
            "UFM authentication credentials are not configured",
            expected="credentials.secretRef with the name of a Secret that has username and password",
        )
    endpoint = get_text(source.config, "endpoint", "config")
    _check_encrypted(endpoint, access, plain_http)
    return _begun(UfmServer(endpoint, access).discover)


def _ask_roce(plain_http: bool, source: DiscoverySource, secret: Object | None) -> Future[DiscoveryResult]:
    endpoint = get_text(source.config, "endpoint", "config")
    if not endpoint:
        raise InputError("RoCE endpoint is not configured", expected="https://HOST[:PORT]/PATH")
    # A name without a scheme is a host here, never a file of the machine on which the operator runs.
    url, access = checked_url(endpoint), _access(source, secret)
    _check_encrypted(endpoint, access, plain_http)
    return _begun(lambda: discover_links(url, access))


def _check_encrypted(endpoint: str, access: Access, plain_http: bool) -> None:
    """Refuse an endpoint to which a password would go over a network as it is."""
    url = httpx.URL(checked_url(endpoint))
    if access.credentials is not None and url.scheme == "http" and not plain_http and not is_loopback(url.host):
        raise InputError(
            "user name and password are not sent over http",
            source=shown_url(endpoint),
            expected="https, or --plain-http",
        )


def _access(source: DiscoverySource, secret: Object | None) -> Access:
    return Access(_credentials(secret), verify=not get_bool(source.config, "insecureSkipVerify", "config"))


def _credentials(secret: Object | None) -> Credentials | None:
    """The user name and password of a stored Secret; None where one of them is missing or no text."""
    try:
        data = {name: base64.b64decode(value).decode() for name, value in ((secret or {}).get("data") or {}).items()}
    except (binascii.Error, UnicodeDecodeError):
        return None
    return credentials_of_secret(data)


def _begun(discover: Callable[[], DiscoveryResult]) -> Future[DiscoveryResult]:
    """The result to come of a function, which runs in a thread that does not keep the program alive."""
    future: Future[DiscoveryResult] = Future()

    def run() -> None:
        try:
            future.set_result(discover())
        except BaseException as error:  # handed to the thread that waits
            future.set_exception(error)

    threading.Thread(target=run, name="workbench-discovery", daemon=True).start()
    return future
