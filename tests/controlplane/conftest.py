"""One real API server for the tests of this folder; a missing one is a visible skip, or a failure where required."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import run  # noqa: F401 - a fixture
from tests.controlplane.faults import prepare
from tests.controlplane.live import SCHEDULERS, Live
from tests.controlplane.server import ControlPlane, started
from workbench.live.kubernetes.admission_server import AdmissionServer, webhook_configurations
from workbench.live.kubernetes.apply import apply, apply_kinds
from workbench.live.kubernetes.configuration import cluster_of
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.control_plane import missing_programs
from workbench.live.kubernetes.tls_server import own_certificate


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A running API server; skips where none can be started, fails where WORKBENCH_REQUIRE_CONTROL_PLANE=1."""
    if reason := missing_programs():
        if os.environ.get("WORKBENCH_REQUIRE_CONTROL_PLANE") == "1":
            pytest.fail(f"WORKBENCH_REQUIRE_CONTROL_PLANE=1, but {reason}")
        pytest.skip(f"{reason}; the tests against a real API server did not run")
    with started(tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane


@pytest.fixture
def live(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Live]:
    """A cluster of its own with fake nodes and the operator; a module whose cluster differs has its own `live`."""
    with started(tmp_path / "server") as plane:
        cluster = Live(plane, tmp_path)
        prepare(cluster)
        cluster.nodes()
        cluster.operator()
        yield cluster
        cluster.close()


@pytest.fixture(scope="module")
def admitting(tmp_path_factory: pytest.TempPathFactory, control_plane: Any) -> Iterator[Live]:
    """A cluster of its own, whose API server asks the admission server."""
    folder = tmp_path_factory.mktemp("admission")
    with started(folder / "server") as plane:
        cluster = Live(plane, folder)
        apply_kinds(cluster.writer)
        files = own_certificate(["127.0.0.1"], folder)
        connection = Connection(cluster_of(kubeconfig=cluster.config))
        server = AdmissionServer(connection, SCHEDULERS, "127.0.0.1", 0, *files)
        server.start()
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        client = {"url": f"https://127.0.0.1:{server.port}/admit"}
        apply(cluster.writer, webhook_configurations(client, files[0].read_bytes(), SCHEDULERS))
        # A group whose topology names its tier twice: the schema takes it, the webhook does not.
        probe = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "probe"},
            "spec": {"networkTopology": {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}},
        }
        path = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
        cluster.until(
            lambda: plane.ask("POST", path, probe, dryRun="All")[0] >= 400, "the API server to ask the webhook"
        )
        yield cluster
        server.stop()
        thread.join()
        server.close()
        cluster.close()
