"""Nodes of a live cluster that are not ready: read, without the heartbeats of their conditions."""

from __future__ import annotations

import json
from typing import Any

import httpx

from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.projection import projected
from workbench.live.kubernetes.snapshot import read_cluster


def node(name: str, ready: str) -> dict[str, Any]:
    conditions = [
        {"type": "MemoryPressure", "status": "False", "lastHeartbeatTime": "2026-01-01T00:00:00Z"},
        {"type": "Ready", "status": ready, "lastHeartbeatTime": "2026-01-01T00:00:00Z", "message": "kubelet"},
    ]
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "8"}, "conditions": conditions}}


def test_the_snapshot_of_a_live_cluster_tells_nodes_that_are_not_ready() -> None:
    nodes = [node("a", "True"), node("b", "False"), node("c", "Unknown")]

    def answer(request: httpx.Request) -> httpx.Response:
        items = nodes if request.url.path == "/api/v1/nodes" else []
        return httpx.Response(200, json={"metadata": {}, "items": items})

    cluster = Cluster("test", "jane", "https://cluster.example:6443", lambda: "")
    with Connection(cluster, 5.0, httpx.MockTransport(answer)) as connection:
        snapshot = read_cluster(connection).scenario().snapshot
    assert snapshot.not_ready.tolist() == [False, True, True]


def test_of_the_conditions_only_the_state_of_ready_is_kept() -> None:
    kept = projected("Node", node("a", "Unknown"))
    assert kept["status"]["conditions"] == [{"type": "Ready", "status": "Unknown"}]
    assert "Heartbeat" not in json.dumps(kept)
