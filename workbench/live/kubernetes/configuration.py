"""`cluster_of`: the API server and the credentials that a kubeconfig names, read by the official client."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.errors import ClusterError, InputError
from workbench.live.http import checked_url
from workbench.live.proxies import environment_proxy
from workbench.live.threads import within
from workbench.optional import optional

__all__ = ["Cluster", "cluster_of", "contexts"]

#: Keys of a user in a kubeconfig that promise credentials.
_PROMISES = ("exec", "auth-provider", "token", "tokenFile", "client-certificate", "client-certificate-data", "username")


#: Seconds to read a file.
_PROMPT_S = 10.0

#: Most bytes of a file with a token.
_MAX_TOKEN_BYTES = 1 << 20


@dataclass(frozen=True)
class Cluster:
    """An API server with the credentials to reach it.

    Attributes
    ----------
    context, user : str
        Names in the kubeconfig.
    server : str
        URL of the API server; `ClusterError` if it has a user name, a password or a query.
    ca_file, certificate, key : str, optional
        PEM files: the authority of the server, and the user's certificate with its key.
    verify : bool
        Whether the server's certificate is verified.
    server_name : str, optional
        Name in the server's certificate where it is not the host of `server`.
    proxy : str, optional
        URL of the proxy that the kubeconfig names, or else the environment, unless NO_PROXY leaves the server out.
    authorization : callable
        Gives the value of the Authorization header, renewed when it has expired; an empty text if there is none. Never
        part of the text of an error.
    """

    context: str
    user: str
    server: str
    authorization: Callable[[], str]
    ca_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    verify: bool = True
    server_name: str | None = None
    proxy: str | None = None

    def __post_init__(self) -> None:
        try:
            checked_url(self.server, "/")
        except InputError as error:
            raise ClusterError(f"context {self.context}: server: {error}") from None

    def __repr__(self) -> str:
        return f"Cluster({self.context!r}, {self.server!r}, {self.user!r})"


def cluster_of(context: str | None = None, kubeconfig: str | Path | None = None, *, timeout_s: float = 60.0) -> Cluster:
    """Read the API server and the credentials of a context; programs that a kubeconfig names for credentials are run.

    `context`: None means the current one of the kubeconfig. `kubeconfig`: None means the files of the environment
    variable KUBECONFIG, or else ``~/.kube/config``. `timeout_s`: seconds within which the credentials must be there.
    Inside of a cluster, without a kubeconfig, the pod's service account is used.

    Raises
    ------
    ClusterError
        No kubeconfig, one that cannot be read, an unknown context, or no credentials. The text quotes no credentials.
    """
    with optional("live"):
        from kubernetes.config import kube_config

    named, paths = _files(kubeconfig)
    if not any(path.is_file() for path in paths):
        if kubeconfig is None and context is None and os.environ.get("KUBERNETES_SERVICE_HOST"):
            return _of_this_pod(timeout_s)
        raise _no_kubeconfig(named)
    file = os.pathsep.join(map(str, paths))
    written = _in_time(lambda: _merged(kube_config, file), named, timeout_s)
    known = _named(written, "contexts", "context")
    chosen = context if context is not None else _text(written.get("current-context"))
    if chosen not in known:
        what = f"no context {chosen!r}" if chosen else "no current context"
        raise ClusterError(f"{named}: {what}; contexts: {', '.join(sorted(known)) or 'none'}")
    user = _text(known[chosen].get("user"))
    place = f"{named}: context {chosen}"
    settings = _named(written, "users", "user").get(user, {})
    _check_token_file(settings.get("tokenFile"), paths, f"{place}: tokenFile of user {user}")
    found = _in_time(lambda: _configuration(kube_config, file, chosen), place, timeout_s)

    def authorization() -> str:
        with _muted():
            return str(
                found.get_api_key_with_prefix("BearerToken") or found.get_api_key_with_prefix("authorization") or ""
            )

    promised = [key for key in _PROMISES if settings.get(key)]
    if promised and not found.cert_file and not _in_time(authorization, place, timeout_s):
        raise ClusterError(f"{place}: user {user} has no credentials: its {promised[0]} gave none")
    server = str(found.host).rstrip("/")
    own_proxy = _named(written, "clusters", "cluster").get(_text(known[chosen].get("cluster")), {}).get("proxy-url")
    cluster = Cluster(
        context=chosen,
        user=user,
        server=server,
        authorization=authorization,
        ca_file=found.ssl_ca_cert,
        certificate=found.cert_file,
        key=found.key_file,
        verify=bool(found.verify_ssl),
        server_name=found.tls_server_name,
        proxy=str(own_proxy) if own_proxy else None,
    )
    return cluster if own_proxy else replace(cluster, proxy=environment_proxy(server))


def contexts(kubeconfig: str | Path | None = None) -> tuple[list[str], str]:
    """The names of all contexts of a kubeconfig, sorted, and that of the current one; no program is run.

    `kubeconfig`: as for `cluster_of`. Raises ClusterError: no kubeconfig, or one that cannot be read.
    """
    with optional("live"):
        from kubernetes.config import kube_config

    named, paths = _files(kubeconfig)
    if not any(path.is_file() for path in paths):
        raise _no_kubeconfig(named)
    written = _in_time(lambda: _merged(kube_config, os.pathsep.join(map(str, paths))), named, _PROMPT_S)
    names = sorted(_named(written, "contexts", "context"), key=str.encode)
    return names, _text(written.get("current-context"))


def _files(kubeconfig: str | Path | None) -> tuple[str, list[Path]]:
    """The kubeconfig as it was named, and its files."""
    named = str(kubeconfig) if kubeconfig is not None else os.environ.get("KUBECONFIG") or "~/.kube/config"
    return named, [Path(part).expanduser() for part in named.split(os.pathsep) if part]


def _no_kubeconfig(named: str) -> ClusterError:
    return ClusterError(f"no kubeconfig: {named} does not exist; name one with --kubeconfig or KUBECONFIG")


def _of_this_pod(timeout_s: float) -> Cluster:
    """The cluster that this process runs in, as the service account of its pod."""
    with optional("live"):
        from kubernetes.client import Configuration
        from kubernetes.config import incluster_config

    found = Configuration()
    read: Any = incluster_config.load_incluster_config
    _in_time(lambda: read(client_configuration=found), "this pod", timeout_s)

    def authorization() -> str:
        with _muted():
            return str(found.get_api_key_with_prefix("authorization") or "")

    return Cluster("in-cluster", "service account", str(found.host).rstrip("/"), authorization, found.ssl_ca_cert)


def _merged(kube_config: Any, file: str) -> dict[str, Any]:
    """The files of a kubeconfig as one mapping."""
    value = kube_config.KubeConfigMerger(file).config.value
    return value if isinstance(value, dict) else {}


def _named(written: Mapping[str, Any], key: str, inner: str) -> dict[str, dict[str, Any]]:
    """The entries of a kubeconfig's list `key`, such as users, by name; an entry's settings are its field `inner`."""
    # The client wraps entries, to name their file in its errors.
    listed = written.get(key)
    plain = [getattr(each, "value", each) for each in listed] if isinstance(listed, list) else []
    entries = [each for each in plain if isinstance(each, dict)]
    return {_text(each.get("name")): _plain(each.get(inner)) for each in entries}


def _text(name: Any) -> str:
    """A name of a kubeconfig; empty for anything but a text, which could hold credentials that errors would quote."""
    return name if isinstance(name, str) else ""


def _plain(settings: Any) -> dict[str, Any]:
    settings = getattr(settings, "value", settings)
    return settings if isinstance(settings, dict) else {}


def _check_token_file(named: Any, kubeconfigs: Sequence[Path], what: str) -> None:
    """Refuse a tokenFile that is a device or too large, before the client reads the whole of it."""
    if not named:
        return
    # The client looks for it beside the kubeconfig that names it.
    for folder in {path.parent for path in kubeconfigs}:
        path = folder / str(named)
        if path.exists() and (not path.is_file() or path.stat().st_size > _MAX_TOKEN_BYTES):
            raise ClusterError(f"{what}: no file of at most {_MAX_TOKEN_BYTES} bytes")


def _configuration(kube_config: Any, file: str, context: str) -> Any:
    with optional("live"):
        from kubernetes.client import Configuration

    found = Configuration()
    with _muted():
        kube_config.load_kube_config(config_file=file, context=context, client_configuration=found)
    return found


@contextmanager
def _muted() -> Iterator[None]:
    """Keep what the client logs off the terminal: it may quote what a credential program printed."""
    root, silent = logging.getLogger(), logging.NullHandler()

    def from_elsewhere(record: logging.LogRecord) -> bool:
        return not record.pathname.endswith(("kube_config.py", "exec_provider.py"))

    root.addHandler(silent)
    root.addFilter(from_elsewhere)
    try:
        yield
    finally:
        root.removeFilter(from_elsewhere)
        root.removeHandler(silent)


def _in_time(read: Callable[[], Any], place: str, timeout_s: float) -> Any:
    """The answer of a function that may start a program which asks for credentials and never ends."""
    try:
        return within(timeout_s, read, "workbench-kubeconfig")
    except TimeoutError:
        raise ClusterError(f"{place}: no credentials within {timeout_s:g} s") from None
    except Exception as error:
        # The client raises whatever the file makes it raise; its texts may quote what a credential program printed.
        raise ClusterError(f"{place}: the kubeconfig cannot be used ({type(error).__name__})") from None
