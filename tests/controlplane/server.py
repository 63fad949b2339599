"""A Kubernetes API server and its etcd on loopback, for tests: no kubelets, no controllers, no scheduler."""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.waiting import until
from workbench.live.kubernetes.control_plane import ControlPlaneProcesses, start_control_plane

__all__ = ["ControlPlane", "started"]

#: Groups of users by name. The administrator may do anything, the others what RBAC gives to them.
_USERS = {"admin": "system:masters", "reader": "readers", "operator": "operators"}


class ControlPlane:
    """A running API server.

    Parameters
    ----------
    plane : ControlPlaneProcesses
        Its tokens are those of the users ``admin`` (all rights), ``reader`` and ``operator`` (what RBAC grants).
    """

    def __init__(self, plane: ControlPlaneProcesses) -> None:
        self.plane = plane
        self.url, self.ca_file, self.tokens = plane.url, plane.ca_file, plane.tokens
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
        until(lambda: self.ask("GET", path)[0] == 200, f"{path} to be served")

    def kill_server(self) -> None:
        """Kill kube-apiserver; etcd stays."""
        self.plane.processes[1].kill()
        self.plane.processes[1].wait()

    def start_server(self) -> None:
        """Start kube-apiserver again, on the same port and data, and wait until it is ready."""
        command = self.plane.commands[1]
        self.plane.processes[1] = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

        def ready() -> bool:
            try:
                return self.ask("GET", "/readyz")[0] == 200
            except httpx.TransportError:
                return False

        until(ready, "kube-apiserver to be ready again")


@contextmanager
def started(folder: Path) -> Iterator[ControlPlane]:
    """An API server that keeps its data in `folder`; both programs end with the block.

    Parameters
    ----------
    folder : Path
        etcd's data, certificates, tokens, and the output of both programs.
    """
    plane = start_control_plane(folder, _USERS)
    try:
        yield ControlPlane(plane)
    finally:
        plane.stop()
