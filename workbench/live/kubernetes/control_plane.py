"""`start_control_plane`: a Kubernetes API server with its etcd on loopback, without kubelets and without Docker.

The programs are named by a variable, installed, or built by ``make control-plane``.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workbench.errors import ClusterError
from workbench.formats.write_manifests import to_yaml_value
from workbench.optional import optional

with optional("live"):
    import httpx

__all__ = [
    "ControlPlaneProcesses",
    "cache_folder",
    "missing_programs",
    "programs",
    "start_control_plane",
    "write_kubeconfig",
]

#: Seconds within which both programs must answer; they take 3 to 5 on an idle machine.
_PATIENCE_S = 120.0


@dataclass
class ControlPlaneProcesses:
    """A running API server and etcd.

    Attributes
    ----------
    url : str
        ``https://127.0.0.1:PORT``.
    ca_file : Path
        The certificate that the API server made for itself.
    tokens : dict of str to str
        Bearer token of each user.
    processes : list of subprocess.Popen
        etcd, then kube-apiserver.
    commands : list of list of str
        Their command lines, to start one of them again.
    """

    url: str
    ca_file: Path
    tokens: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    commands: list[list[str]] = field(default_factory=list)

    def stop(self) -> None:
        """End both programs at once: a graceful end waits for every watch, and the data is not used again."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def start_control_plane(folder: Path, users: Mapping[str, str]) -> ControlPlaneProcesses:
    """Start etcd and kube-apiserver in sessions of their own, and wait until the API server is ready.

    `folder`: receives the data, the certificates, the tokens (readable by their owner only) and the logs of both
    programs. `users`: group of each user by name; ``system:masters`` may do everything, others what RBAC gives to them.
    Raises ClusterError: the programs are not installed, or one of them ends; nothing is left running.
    """
    where = programs()
    if where is None:
        raise ClusterError(missing_programs())
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    tokens = {name: secrets.token_hex(16) for name in users}
    token_file = folder / "tokens.csv"
    token_file.touch(mode=0o600)
    token_file.write_text("".join(f'{tokens[name]},{name},{name},"{users[name]}"\n' for name in users), "utf-8")
    accounts = folder / "accounts.pem"
    accounts.touch(mode=0o600)
    accounts.write_bytes(_private_key())
    etcd_port, peer_port, api_port = _free_ports(3)
    commands = [_etcd(where, folder, etcd_port, peer_port), _server(where, folder, etcd_port, api_port)]
    ca_file = folder / "apiserver.crt"
    plane = ControlPlaneProcesses(f"https://127.0.0.1:{api_port}", ca_file, tokens, commands=commands)
    try:
        for name, command in zip(("etcd", "kube-apiserver"), commands, strict=True):
            with (folder / f"{name}.log").open("wb") as log:
                plane.processes.append(
                    subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
                    )
                )
        _wait_until_ready(plane, folder)
    except BaseException:
        plane.stop()
        raise
    return plane


def write_kubeconfig(path: Path, context: str, url: str, ca_file: Path, user: str, token: str) -> None:
    """Write a kubeconfig with one context, readable by its owner only.

    `context`: name of the context, and of its cluster.
    """
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "contexts": [{"name": context, "context": {"cluster": context, "user": user}}],
        "clusters": [{"name": context, "cluster": {"server": url, "certificate-authority": str(ca_file)}}],
        "users": [{"name": user, "user": {"token": token}}],
    }
    path.touch(mode=0o600)
    path.write_text(to_yaml_value(content), "utf-8")


def _etcd(where: Path, folder: Path, port: int, peer_port: int) -> list[str]:
    url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    return [
        str(where / "etcd"),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _server(where: Path, folder: Path, etcd_port: int, port: int) -> list[str]:
    return [
        str(where / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        # Without a certificate in this folder the server makes one for itself.
        f"--cert-dir={folder}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'accounts.pem'}",
        f"--service-account-signing-key-file={folder / 'accounts.pem'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        # No controller manager makes service accounts or takes taints away.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,DefaultTolerationSeconds",
        "--allow-privileged=true",
    ]


def _private_key() -> bytes:
    with optional("live"):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _wait_until_ready(plane: ControlPlaneProcesses, folder: Path) -> None:
    give_up = time.monotonic() + _PATIENCE_S
    headers = {"Authorization": f"Bearer {next(iter(plane.tokens.values()))}"}
    while not _is_ready(plane, headers):
        for name, process in zip(("etcd", "kube-apiserver"), plane.processes, strict=True):
            if process.poll() is not None:
                last = (folder / f"{name}.log").read_text("utf-8", "replace").strip().splitlines()[-1:]
                raise ClusterError(f"{name} ended with status {process.returncode}: {''.join(last)[:300]}")
        if time.monotonic() > give_up:
            raise ClusterError(f"the API server was not ready within {_PATIENCE_S:g} s; logs in {folder}")
        time.sleep(0.1)


def _is_ready(plane: ControlPlaneProcesses, headers: Mapping[str, str]) -> bool:
    if not plane.ca_file.exists():
        return False
    try:
        context = ssl.create_default_context(cafile=plane.ca_file)
        with httpx.Client(base_url=plane.url, verify=context, headers=headers, trust_env=False) as client:
            paths = ("/readyz", "/api/v1/namespaces/default")
            return all(client.get(path).status_code == httpx.codes.OK for path in paths)
    except (httpx.TransportError, ssl.SSLError):
        return False


_NEEDED = ("etcd", "kube-apiserver")
_INSTALLED = Path("/usr/local/kubebuilder/bin")


def cache_folder() -> Path:
    """The folder of this package in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME")
    root = Path(home) if home else Path.home() / ".cache"
    return root / "topology-workbench"


def programs() -> Path | None:
    """The folder that holds etcd and kube-apiserver; None if there is none.

    KUBEBUILDER_ASSETS is asked first, then /usr/local/kubebuilder/bin, setup-envtest, and the cache that
    ``make control-plane`` fills.
    """
    if named := os.environ.get("KUBEBUILDER_ASSETS"):
        # Named, so no other release takes its place unnoticed.
        return Path(named) if _is_whole(Path(named)) else None
    built = cache_folder() / "control-plane" / "current"
    return next((one for one in (_INSTALLED, _envtest(), built) if one is not None and _is_whole(one)), None)


def missing_programs() -> str:
    """Why no control plane can be started; empty: one can."""
    if programs() is not None:
        return ""
    if named := os.environ.get("KUBEBUILDER_ASSETS"):
        return f"KUBEBUILDER_ASSETS={named} lacks etcd or kube-apiserver"
    return "etcd and kube-apiserver are not installed (make control-plane builds them, or set KUBEBUILDER_ASSETS)"


def _envtest() -> Path | None:
    """The newest release that setup-envtest has installed; None without that program or a release."""
    tool = shutil.which("setup-envtest")
    if tool is None:
        return None
    asked = subprocess.run([tool, "use", "-i", "-p", "path"], capture_output=True, text=True, timeout=30)
    return Path(asked.stdout.strip()) if asked.returncode == 0 and asked.stdout.strip() else None


def _is_whole(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in _NEEDED)
