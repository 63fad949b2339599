"""`workbench live snapshot` on a real API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import workbench
from tests.cli.conftest import Run
from tests.controlplane.kubeconfigs import kubeconfig
from tests.controlplane.server import ControlPlane, started
from workbench.live import take_snapshot
from workbench.live.kubernetes.resources import EVENTS, LISTS
from workbench.objects.schemas.json_schema import SCHEMA_KINDS, crd_of

pytestmark = pytest.mark.slow

SECRET = "planted-secret-7731"
NAMESPACE = "snapshots"


def node(name: str) -> dict[str, Any]:
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def pod(name: str, node_name: str = "", gpus: int = 8) -> dict[str, Any]:
    requests = {"cpu": "1", "nvidia.com/gpu": str(gpus)}
    container = {
        "name": "main",
        "image": "train",
        "env": [{"name": "PASSWORD", "value": SECRET}],
        "args": [SECRET],
        "resources": {"requests": requests, "limits": {"nvidia.com/gpu": str(gpus)}},
    }
    spec = {"schedulerName": "volcano", "containers": [container], **({"nodeName": node_name} if node_name else {})}
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": SECRET}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations}, "spec": spec}


def hypernode(name: str, tier: int, kind: str, *members: str) -> dict[str, Any]:
    selectors = [{"type": kind, "selector": {"exactMatch": {"name": each}}} for each in members]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "members": selectors},
    }


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Four nodes under two leaves and a spine, one pod that runs, one that waits, a Secret and a ConfigMap."""
    # A server of its own: what other tests leave behind would be read, too.
    with started(tmp_path_factory.mktemp("snapshot")) as plane:
        for kind in SCHEMA_KINDS:
            plane.apply_crd(crd_of(kind))
        plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, "/api/v1/namespaces")
        for i in range(4):
            plane.create(node(f"n{i}"), "/api/v1/nodes")
        pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
        plane.create(pod("runs", "n0"), pods)
        plane.create(pod("waits"), pods)
        hypernodes = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
        for one in (
            hypernode("leaf0", 1, "Node", "n0", "n1"),
            hypernode("leaf1", 1, "Node", "n2", "n3"),
            hypernode("spine", 2, "HyperNode", "leaf0", "leaf1"),
        ):
            plane.create(one, hypernodes)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": SECRET}}
        plane.create(secret, f"/api/v1/namespaces/{NAMESPACE}/secrets")
        yield plane


def test_the_file_replays_as_the_cluster_is(server: ControlPlane, tmp_path: Path, run: Run) -> None:
    config = kubeconfig(server, tmp_path / "config")
    file = tmp_path / "cluster.json"
    result = run("live", "snapshot", "--kubeconfig", str(config), "--out", str(file))
    assert (result.status, result.out) == (0, "")
    assert result.err.splitlines()[0] == f"context test, server {server.url}, user admin"
    scenario = workbench.load(file)
    assert list(scenario.snapshot.topology.node_names) == ["n0", "n1", "n2", "n3"]
    assert [gang.name for gang in scenario.gangs] == ["waits"]
    placed = run("place", str(file), "--policy", "binpack", "-o", "json")
    assert placed.status == 0
    assert [one["node"] for one in placed.json["jobs"][0]["pods"]] != ["n0"]


def test_what_runs_is_compared_with_policies(server: ControlPlane, tmp_path: Path, run: Run) -> None:
    config = kubeconfig(server, tmp_path / "config")
    result = run("live", "compare", "--kubeconfig", str(config), "--policies", "volcano-1.15,spread", "-o", "json")
    assert result.status == 0
    rows = [(one["scheduler"], one["job"], one["policy"], one["observed_domain"], one["agrees"]) for one in result.json]
    assert rows == [
        ("volcano", f"{NAMESPACE}/runs", "volcano-1.15", "leaf0", True),
        ("volcano", f"{NAMESPACE}/runs", "spread", "leaf0", True),
        ("volcano", f"{NAMESPACE}/waits", "volcano-1.15", None, True),
        ("volcano", f"{NAMESPACE}/waits", "spread", None, True),
    ]


def test_the_events_of_what_waits_are_read(server: ControlPlane, tmp_path: Path, run: Run) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/events"
    for name, about in (("e1", "waits"), ("e2", "runs")):
        involved = {"kind": "Pod", "namespace": NAMESPACE, "name": about}
        told = {"reason": "FailedScheduling", "message": "no node has room", "type": "Warning"}
        server.create({"metadata": {"name": name}, "involvedObject": involved, **told}, path)
    try:
        config = kubeconfig(server, tmp_path / "config")
        result = run("live", "compare", "--kubeconfig", str(config), "--policies", "binpack", "-o", "json")
        (row,) = [one for one in result.json if "cluster_says" in one]
        said = [(one["source"], one["objects"], one["reason"], one["message"]) for one in row["cluster_says"]]
        assert said == [("event", [f"{NAMESPACE}/waits"], "FailedScheduling", "no node has room")]
        assert (result.status, row["difference"]) == (1, "1 pod placed, but the cluster placed none")
    finally:
        for name in ("e1", "e2"):
            server.ask("DELETE", f"{path}/{name}")


def test_the_doctor_tells_what_is_missing_and_what_is_too_much(server: ControlPlane, tmp_path: Path, run: Run) -> None:
    result = run("live", "doctor", "--kubeconfig", str(kubeconfig(server, tmp_path / "config")), "-o", "json")
    assert result.status == 0, result.out
    found = [(one["subject"], one["state"], one["text"]) for one in result.json]
    assert found[0] == ("version", "ok", "Kubernetes v1.36.2")
    assert ("rights", "ok", "everything may be read") in found
    assert any(about == "rights" and "this user may also create pods/binding" in text for about, _, text in found)
    assert ("kinds", "note", "the cluster has no Device (scheduling.koordinator.sh/v1alpha1)") in found
    assert ("HyperNodes", "ok", "3 over 4 nodes, no finding") in found
    assert ("scheduler", "note", "no configuration of Volcano's scheduler was found or may be read") in found

    result = run("live", "doctor", "--kubeconfig", str(kubeconfig(server, tmp_path / "config", "reader")))
    assert result.status == 1
    lines = [line.split() for line in result.out.splitlines()]
    assert any(line[:6] == ["problem", "rights", "may", "not", "list", "nodes;"] for line in lines)


def test_the_doctor_reads_the_schedulers_configuration(server: ControlPlane, tmp_path: Path, run: Run) -> None:
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "volcano-system"}})
    path = "/api/v1/namespaces/volcano-system/configmaps"
    text = 'actions: "allocate, shuffle"\ntiers:\n- plugins:\n  - name: gang\n  - name: usage\n'
    data = {"metadata": {"name": "volcano-scheduler-configmap"}, "data": {"volcano-scheduler.conf": text}}
    server.create(data, path)
    try:
        result = run("live", "doctor", "--kubeconfig", str(kubeconfig(server, tmp_path / "config")), "-o", "json")
        told = [one["text"] for one in result.json if one["subject"] == "scheduler"]
        assert any("shuffle" in text for text in told) and any("usage" in text for text in told)
    finally:
        server.ask("DELETE", f"{path}/volcano-scheduler-configmap")


def test_nothing_secret_is_read_or_written(server: ControlPlane, tmp_path: Path) -> None:
    config = kubeconfig(server, tmp_path / "config")
    content = take_snapshot(kubeconfig=config).to_json().decode()
    assert '"waits"' in content
    for planted in (SECRET, server.tokens["admin"], "Secret"):
        assert planted not in content


def test_the_same_cluster_gives_the_same_bytes(server: ControlPlane, tmp_path: Path) -> None:
    config = kubeconfig(server, tmp_path / "config")
    first, second = (take_snapshot(kubeconfig=config) for _ in range(2))
    assert first.objects == second.objects
    file = tmp_path / "cluster.json"
    file.write_bytes(first.to_json())
    read = json.loads(file.read_bytes())
    assert read["metadata"]["snapshot"]["versions"].keys() >= {"nodes", "pods", "hypernodes.topology.volcano.sh"}
    assert first.scenario().snapshot.topology.node_names == workbench.load(file).snapshot.topology.node_names


def test_long_lists_come_in_pages(server: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = take_snapshot(kubeconfig=kubeconfig(server, tmp_path / "config"))
    monkeypatch.setattr("workbench.live.kubernetes.lists.PAGE", 1)
    told: list[tuple[int, int, str]] = []
    paged = take_snapshot(kubeconfig=tmp_path / "config", progress=lambda *step: told.append(step))
    assert paged.objects == whole.objects
    assert [step for step in told if step[2] == "nodes"] == [(i, 4, "nodes") for i in range(1, 5)]


def test_a_kind_that_is_not_installed_is_a_gap_and_stays_one_in_the_file(server: ControlPlane, tmp_path: Path) -> None:
    found = take_snapshot(kubeconfig=kubeconfig(server, tmp_path / "config"))
    assert [(gap.code, gap.subject) for gap in found.gaps] == [("kind-not-served", "devices.scheduling.koordinator.sh")]
    assert found.gaps[0] in found.scenario().snapshot.gaps


def grant(server: ControlPlane, name: str, rules: list[dict[str, Any]]) -> None:
    base = "/apis/rbac.authorization.k8s.io/v1"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    server.create({**role, "rules": rules}, f"{base}/clusterroles")
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    server.create(binding, f"{base}/clusterrolebindings")


def revoke(server: ControlPlane, name: str) -> None:
    for plural in ("clusterrolebindings", "clusterroles"):
        server.ask("DELETE", f"/apis/rbac.authorization.k8s.io/v1/{plural}/{name}")


def test_a_reader_is_told_the_rule_that_is_missing(server: ControlPlane, tmp_path: Path, run: Run) -> None:
    config = kubeconfig(server, tmp_path / "config", "reader")
    result = run("live", "snapshot", "--kubeconfig", str(config))
    assert (result.status, result.out) == (3, "")
    assert result.err.splitlines()[-1].endswith(
        "a ClusterRole with the rule "
        '{apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch"]} would allow it'
    )
    rights = [{"apiGroups": [one.group], "resources": [one.plural], "verbs": ["list"]} for one in (*LISTS, EVENTS)]
    grant(server, "some", [rule for rule in rights if rule["resources"] != ["hypernodes"]])
    try:
        result = run("live", "snapshot", "--kubeconfig", str(config), "--out", str(tmp_path / "cluster.json"))
        assert result.status == 0
        assert (
            "note: user reader may not list hypernodes.topology.volcano.sh; the rule "
            '{apiGroups: ["topology.volcano.sh"], resources: ["hypernodes"], verbs: ["get", "list", "watch"]} '
            "would allow it"
        ) in result.err
    finally:
        revoke(server, "some")


def test_with_the_shipped_roles_nothing_is_missing_and_no_secret_is_readable(
    server: ControlPlane, tmp_path: Path, run: Run
) -> None:
    homes = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "Role": "roles"}
    for name in ("volcano-system", "kueue-system"):
        server.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    paths = []
    for one in yaml.safe_load_all(run("live", "rbac", "user:reader").out):
        inside = one["metadata"].get("namespace")
        base = "/apis/rbac.authorization.k8s.io/v1" + (f"/namespaces/{inside}" if inside else "")
        path = f"{base}/{homes.get(one['kind'], 'rolebindings')}"
        server.create(one, path)
        paths.append(f"{path}/{one['metadata']['name']}")
    try:
        found = take_snapshot(kubeconfig=kubeconfig(server, tmp_path / "config", "reader"))
        assert {gap.code for gap in found.gaps} == {"kind-not-served"}
        review = {"spec": {"resourceAttributes": {"verb": "list", "resource": "secrets"}, "user": "reader"}}
        _, answer = server.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        assert not answer["status"]["allowed"]
    finally:
        for path in paths:
            server.ask("DELETE", path)


@pytest.mark.parametrize(
    ("credentials", "said"),
    [
        ({"token": "wrong-token-5521"}, "the credentials of user admin are not accepted (status 401)"),
        (
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "false", "interactiveMode": "Never"}},
            "user admin has no credentials: its exec gave none",
        ),
    ],
)
def test_credentials_that_fail_are_one_line(
    server: ControlPlane, tmp_path: Path, run: Run, credentials: dict[str, Any], said: str
) -> None:
    result = run("live", "snapshot", "--kubeconfig", str(kubeconfig(server, tmp_path / "c", **credentials)))
    assert (result.status, result.out) == (3, "")
    assert said in result.err.splitlines()[-1]
    assert "5521" not in result.err


def test_a_server_with_another_authority_is_not_trusted(server: ControlPlane, tmp_path: Path, run: Run) -> None:
    config = kubeconfig(server, tmp_path / "config")
    text = config.read_text()
    config.write_text(text.replace(f"certificate-authority: {server.ca_file}", ""))
    result = run("live", "snapshot", "--kubeconfig", str(config))
    assert result.status == 3
    assert "the certificate is not trusted" in result.err
