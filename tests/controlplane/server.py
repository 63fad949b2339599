"""A Kubernetes API server and its etcd on loopback, for tests: no kubelets, no controllers, no scheduler."""

from __future__ import annotations

import json
import secrets
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import trustme

from tests.controlplane.programs import programs

__all__ = ["ControlPlane", "started"]

#: Seconds within which both programs must answer; they take 3 to 5 on an idle machine.
_PATIENCE_S = 120.0

#: Users by name: token groups. The administrator may do anything, the reader what RBAC gives to it.
_USERS = {"admin": "system:masters", "reader": "readers"}


@dataclass
class ControlPlane:
    """A running API server.

    Attributes
    ----------
    url : str
        ``https://127.0.0.1:PORT``.
    ca_file : Path
        Certificate of the authority that signed the server's.
    tokens : dict of str to str
        Bearer token of each user: ``admin`` (all rights) and ``reader`` (none but what RBAC grants).
    """

    url: str
    ca_file: Path
    tokens: dict[str, str]

    def __post_init__(self) -> None:
        context = ssl.create_default_context(cafile=self.ca_file)
        headers = {"Authorization": f"Bearer {self.tokens['admin']}"}
        self._http = httpx.Client(base_url=self.url, verify=context, headers=headers, trust_env=False, timeout=60)

    def ask(
        self, method: str, path: str, body: Any = None, *, kind: str = "application/json", **query: str
    ) -> tuple[int, Any]:
        """One request as administrator: the status code and the parsed answer, or its text where it is not JSON.

        Parameters
        ----------
        method, path : str
        body : any, optional
            Sent as JSON.
        kind : str
            Content type of the body.
        **query : str
        """
        content = None if body is None else json.dumps(body)
        answer = self._http.request(method, path, params=query, content=content, headers={"Content-Type": kind})
        try:
            return answer.status_code, answer.json()
        except ValueError:
            return answer.status_code, answer.text

    def create(self, data: Mapping[str, Any], path: str) -> Any:
        """Store a new object; fails where the server refuses it."""
        status, answer = self.ask("POST", path, data)
        assert status == 201, answer
        return answer

    def ask_as_table(self, path: str) -> Any:
        """A list as kubectl asks for it, with the columns that the CRD names."""
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        return self._http.get(path, headers={"Accept": accept}).json()

    def apply_crd(self, crd: Mapping[str, Any]) -> None:
        """Create a CustomResourceDefinition, and wait until the API server serves its kind."""
        status, answer = self.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        assert status in (201, 409), answer
        spec = crd["spec"]
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
        _until(lambda: self.ask("GET", path)[0] == 200, f"{path} to be served")


@contextmanager
def started(folder: Path) -> Iterator[ControlPlane]:
    """An API server that keeps its data in `folder`; both programs end with the block.

    Parameters
    ----------
    folder : Path
        An empty folder: etcd's data, certificates, tokens, and the output of both programs.
    """
    where = programs()
    assert where is not None
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    own = authority.issue_cert("127.0.0.1", "localhost", key_type=trustme.KeyType.ECDSA)
    files = {name: folder / name for name in ("ca.pem", "cert.pem", "key.pem", "accounts.pem", "tokens.csv")}
    authority.cert_pem.write_to_path(str(files["ca.pem"]))
    own.private_key_and_cert_chain_pem.write_to_path(str(files["cert.pem"]))
    own.private_key_pem.write_to_path(str(files["key.pem"]))
    authority.private_key_pem.write_to_path(str(files["accounts.pem"]))
    tokens = {name: secrets.token_hex(16) for name in _USERS}
    files["tokens.csv"].write_text("".join(f'{tokens[n]},{n},{n},"{group}"\n' for n, group in _USERS.items()), "utf-8")

    etcd_port, peer_port, api_port = _free_ports(3)
    etcd_url, peer_url = f"http://127.0.0.1:{etcd_port}", f"http://127.0.0.1:{peer_port}"
    etcd = [
        where / "etcd",
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={etcd_url}",
        f"--advertise-client-urls={etcd_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]
    server = [
        where / "kube-apiserver",
        f"--etcd-servers={etcd_url}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={api_port}",
        f"--cert-dir={folder}",
        f"--tls-cert-file={files['cert.pem']}",
        f"--tls-private-key-file={files['key.pem']}",
        f"--token-auth-file={files['tokens.csv']}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={files['accounts.pem']}",
        f"--service-account-signing-key-file={files['accounts.pem']}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        # No controller manager makes service accounts or takes taints away.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,DefaultTolerationSeconds",
        "--allow-privileged=true",
    ]
    with _running(etcd, folder / "etcd.log"), _running(server, folder / "kube-apiserver.log") as process:
        plane = ControlPlane(f"https://127.0.0.1:{api_port}", files["ca.pem"], tokens)

        def ready() -> bool:
            if process.poll() is not None:
                raise AssertionError(f"kube-apiserver ended: {(folder / 'kube-apiserver.log').read_text()[-2000:]}")
            try:
                return (
                    plane.ask("GET", "/readyz")[0] == 200 and plane.ask("GET", "/api/v1/namespaces/default")[0] == 200
                )
            except httpx.TransportError:
                return False

        _until(ready, "kube-apiserver to be ready")
        yield plane


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def _running(command: list[Any], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen([str(part) for part in command], stdout=out, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until(holds: Any, what: str) -> None:
    give_up = time.monotonic() + _PATIENCE_S
    while not holds():
        if time.monotonic() > give_up:
            raise AssertionError(f"waited {_PATIENCE_S:g} s for {what}")
        time.sleep(0.1)
