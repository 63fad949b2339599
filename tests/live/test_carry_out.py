"""The changes that a round of discovery asks for, written to an API server."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from workbench.live.kubernetes.carry_out import carry_out, objects_of
from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.writer import Writer
from workbench.model.labels import SOURCE_LABEL
from workbench.objects.hypernode import read_hypernode
from workbench.topology.discovery.reconcile import reconcile
from workbench.topology.discovery.result import DiscoveryResult, discovered

PATH = "/apis/topology.volcano.sh/v1alpha1/hypernodes"


def stored(name: str, *nodes: str) -> dict[str, Any]:
    members = [{"type": "Node", "selector": {"exactMatch": {"name": node}}} for node in nodes]
    metadata = {"name": name, "resourceVersion": "7", "labels": {SOURCE_LABEL: "roce"}}
    return {"metadata": metadata, "spec": {"tier": 1, "members": members}, "status": {"nodeCount": 1}}


@pytest.mark.parametrize("dry_run", [True, False])
def test_each_change_is_one_request_and_a_refused_one_stops_no_other(dry_run: bool) -> None:
    seen: list[tuple[str, str, dict[str, str], Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"metadata": {}, "items": [stored("old", "a"), stored("gone", "b")]})
        query = dict(request.url.params)
        seen.append((request.method, request.url.path, query, json.loads(request.content)))
        if request.method == "PUT":
            status = {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}
            return httpx.Response(409, json=status)
        return httpx.Response(200, json={})

    found = [discovered("roce", name, 1, nodes, "Node") for name, nodes in (("new", ["c"]), ("old", ["a", "d"]))]
    cluster = Cluster("test", "jane", "https://cluster.example:6443", lambda: "")
    with Writer(cluster, 5.0, httpx.MockTransport(answer)) as writer:
        manifests = {one["metadata"]["name"]: one for one in objects_of(writer, "HyperNode")}
        existing = [read_hypernode(one) for one in manifests.values()]
        plan = reconcile(DiscoveryResult("roce", tuple(found)), existing)
        done, refused = carry_out(writer, plan, manifests, dry_run=dry_run)
    assert [(method, path) for method, path, _, _ in seen] == [
        ("POST", PATH),
        ("PUT", f"{PATH}/old"),
        ("DELETE", f"{PATH}/gone"),
    ]
    assert {json.dumps(query) for _, _, query, _ in seen} == {'{"dryRun": "All"}' if dry_run else "{}"}
    assert seen[1][3]["metadata"]["resourceVersion"] == "7" and "status" not in seen[1][3]
    assert len(seen[1][3]["spec"]["members"]) == 2
    assert done == 2 and len(refused) == 1 and "HyperNode old" in refused[0]
