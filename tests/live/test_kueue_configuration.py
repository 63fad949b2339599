"""Kueue's Configuration of a live cluster is read where Kueue is, or told; a view has what a file of the same gives."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

import workbench
from workbench.control.kinds import key_of
from workbench.control.object_table import ObjectTable
from workbench.live.kubernetes.anonymous import anonymized
from workbench.live.kubernetes.cluster_view import ClusterView
from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.rbac import reader_role
from workbench.live.kubernetes.resources import KUEUE_CONFIG
from workbench.live.kubernetes.snapshot import LiveSnapshot, read_cluster
from workbench.model.kueue_request import KueueObjects

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8"}}}


def config_map(text: str) -> dict[str, Any]:
    held = f"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n{text}\n"
    metadata = {"name": KUEUE_CONFIG.name, "namespace": KUEUE_CONFIG.namespace, "resourceVersion": "7", "uid": "u"}
    data = {"controller_manager_config.yaml": held}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


SHARING = config_map("fairSharing: {preemptionStrategies: [LessThanInitialShare]}\nfeatureGates: {A: true}")


def read(status: int, *, kueue: bool = True) -> LiveSnapshot:
    """A cluster whose API server answers with `status` when it is asked for the ConfigMap."""

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path == "/apis":
            versions = [{"groupVersion": "kueue.x-k8s.io/v1beta2"}] if kueue else []
            return httpx.Response(200, json={"groups": [{"name": "kueue.x-k8s.io", "versions": versions}]})
        if path == KUEUE_CONFIG.path:
            return httpx.Response(status, json=SHARING if status == 200 else {})
        if "/configmaps/" in path:
            return httpx.Response(404)
        return httpx.Response(200, json={"metadata": {}, "items": [NODE] if path == "/api/v1/nodes" else []})

    cluster = Cluster("test", "jane", "https://cluster.example:6443", lambda: "")
    with Connection(cluster, transport=httpx.MockTransport(answer)) as connection:
        return read_cluster(connection)


def shares(objects: Any) -> tuple[str, ...]:
    text = b'{"apiVersion":"v1","kind":"List","items":[' + b",".join(objects) + b"]}"
    return workbench.load("-", stdin=text).snapshot.extra(KueueObjects).fair_sharing


def test_it_is_read_where_kueue_is_and_survives_the_stand_ins() -> None:
    found = read(200)
    assert not found.gaps
    assert shares(found.objects) == shares(anonymized(found.objects).objects) == ("LessThanInitialShare",)


@pytest.mark.parametrize(("status", "code"), [(403, "not-permitted"), (404, "object-not-read")])
def test_what_is_not_read_is_told(status: int, code: str) -> None:
    (gap,) = read(status).gaps
    assert (gap.code, gap.subject) == (code, "ConfigMap kueue-system/kueue-manager-config")
    assert status != 403 or KUEUE_CONFIG.rule in gap.message
    assert not read(status, kueue=False).gaps


def test_the_roles_grant_what_views_and_snapshots_ask_for() -> None:
    roles = [one for one in reader_role("user:jane") if one["metadata"].get("namespace") == "kueue-system"]
    (rule,) = roles[0]["rules"]
    assert (rule["resourceNames"], rule["verbs"]) == ([KUEUE_CONFIG.name], ["get", "list", "watch"])
    assert json.dumps(rule["verbs"]) in KUEUE_CONFIG.rule


def test_a_view_has_what_a_file_gives_and_forgets_what_goes() -> None:
    table = ObjectTable()
    view = ClusterView(table)
    table.put(key_of(NODE), NODE)

    def taken() -> Any:
        view._take_over()
        told = [one.message for one in view.snapshot.gaps if one.code == "not-modelled"]
        return view.snapshot.extra(KueueObjects), told

    def by_file(data: dict[str, Any]) -> Any:
        snapshot = workbench.load(
            "-", stdin=json.dumps({"kind": "List", "apiVersion": "v1", "items": [NODE, data]})
        ).snapshot
        return snapshot.extra(KueueObjects), [one.message for one in snapshot.gaps if one.code == "not-modelled"]

    key = key_of(SHARING)
    for data in (SHARING, config_map("fairSharing: {}"), config_map("admissionFairSharing: {usageHalfLifeTime: 1m}")):
        table.put(key, data)
        assert taken() == by_file(data) and not view.unread
    table.put(key, SHARING)
    taken()
    table.put(key, config_map("fairSharing: {preemptionStrategies: [Nope]}"))
    assert taken() == (KueueObjects(), [])
    assert "data[controller_manager_config.yaml], fairSharing.preemptionStrategies" in view.unread[str(key)].message
    table.put(key, SHARING)
    assert taken() == by_file(SHARING) and not view.unread
    table.put(key, {**SHARING, "data": {}})
    assert taken() == (KueueObjects(), [])
    table.put(key, SHARING)
    taken()
    table.remove(key)
    assert taken() == (KueueObjects(), [])
