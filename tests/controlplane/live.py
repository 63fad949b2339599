"""A cluster of an API server, fake nodes and operators in threads of the test, which can be killed at any write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.controlplane.kubeconfigs import kubeconfig
from tests.controlplane.server import ControlPlane
from tests.waiting import until
from workbench.control.kinds import api_path
from workbench.control.kubelets import Behaviour
from workbench.live.kubernetes.configuration import cluster_of
from workbench.live.kubernetes.fake_nodes import FakeNodes
from workbench.live.kubernetes.operator import Operator
from workbench.live.kubernetes.writer import Writer

__all__ = ["Live", "MortalWriter"]

#: Both the name in the documents and that of the operator.
SCHEDULERS = ("volcano", "topology-workbench")


class MortalWriter(Writer):
    """A connection that stops to work as if its process had been killed: at once, or at a write to come."""

    dead = False
    writes_left: int | None = None

    def write(self, method: str, path: str, body: Any, *rest: Any, **query: str) -> Any:
        if self.writes_left is not None:
            self.dead |= self.writes_left <= 0
            self.writes_left -= 1
        self._check()
        return super().write(method, path, body, *rest, **query)

    def _request(self, *args: Any, **kwargs: Any) -> Any:
        self._check()
        return super()._request(*args, **kwargs)

    def _check(self) -> None:
        if self.dead:
            raise SystemExit("killed")


class Live:
    """A cluster of an API server, fake nodes and operators that run in threads."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane = plane
        self.config = kubeconfig(plane, folder / "config")
        self.writer = Writer(cluster_of(kubeconfig=self.config))
        self.running: list[tuple[Any, threading.Thread]] = []
        self.lines: list[str] = []

    def connection(self, user: str = "admin") -> MortalWriter:
        """A connection of its own, as one of the users of the API server."""
        config = kubeconfig(self.plane, self.config.with_name(f"config-{user}"), user)
        return MortalWriter(cluster_of(kubeconfig=config))

    def run(self, loop: Any) -> Any:
        """Start a loop, and let it run in a thread."""
        loop.start()
        thread = threading.Thread(target=loop.run, daemon=True)
        thread.start()
        self.running.append((loop, thread))
        return loop

    def operator(
        self, policy: Any = "volcano", writes_left: int | None = None, user: str = "admin", **settings: Any
    ) -> Operator:
        """Start an operator; `writes_left`: it is killed at the write after so many."""
        connection = self.connection(user)
        operator = Operator(
            connection, policy, schedulers=SCHEDULERS, tell=lambda line: self.lines.append(str(line)), **settings
        )
        self.run(operator)
        connection.writes_left = writes_left
        return operator

    def nodes(self, behaviour: Behaviour | None = None) -> FakeNodes:
        """Start the kubelets of the fake nodes."""
        found: FakeNodes = self.run(FakeNodes(self.connection(), behaviour))
        return found

    def kill(self, loop: Any) -> None:
        """End a loop as kill -9 would: what it has not written it never writes."""
        loop.store.connection.dead = True
        self.stop(loop)

    def stop(self, loop: Any) -> None:
        """End a loop after the step at hand."""
        _, thread = next(one for one in self.running if one[0] is loop)
        loop.stop()
        thread.join(60)
        assert not thread.is_alive()
        loop.close()
        self.running = [one for one in self.running if one[0] is not loop]

    def close(self) -> None:
        """Stop everything but the API server."""
        for loop, _ in list(self.running):
            self.stop(loop)
        self.writer.close()

    def list(self, kind: str) -> list[dict[str, Any]]:
        """All objects of a kind, by namespace and name."""
        return sorted(
            self.writer.get(api_path(kind)).get("items") or [],
            key=lambda one: (one["metadata"].get("namespace", ""), one["metadata"]["name"]),
        )

    def phases(self) -> set[str]:
        """The phases of the pods."""
        return {(one.get("status") or {}).get("phase") for one in self.list("Pod")}

    def nodes_of_pods(self) -> dict[str, str]:
        """Name of the node of each pod; empty for a pod without one."""
        return {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in self.list("Pod")}

    def job_phases(self) -> dict[str, str]:
        """Phase of each Job."""
        return {
            one["metadata"]["name"]: ((one.get("status") or {}).get("state") or {}).get("phase", "")
            for one in self.list("Job")
        }

    def until(self, holds: Callable[[], Any], what: str) -> None:
        """Wait until `holds` returns true; a failure shows the pods and the operators' log."""
        try:
            until(holds, what)
        except AssertionError as error:
            said = "\n".join(self.lines[-30:])
            raise AssertionError(
                f"{error}; jobs: {self.job_phases()}; pods: {self.nodes_of_pods()}; log:\n{said}"
            ) from None
