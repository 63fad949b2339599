"""The operator with fake nodes on a real API server: jobs run, and land where the embedded cluster puts them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import workbench
from tests.cli.conftest import Run
from tests.controlplane.live import Live
from tests.controlplane.server import ControlPlane, started
from workbench.formats.manifests import read_manifests
from workbench.formats.mend import mended_documents
from workbench.live.kubernetes.apply import apply, apply_kinds
from workbench.live.kubernetes.connection import Forbidden
from workbench.live.kubernetes.operator_manifests import operator_manifests
from workbench.topology.presets import generate

pytestmark = pytest.mark.slow

DATASETS = Path(__file__).parents[2] / "datasets"
TREE = ("three-level-tree/nodes.yaml", "three-level-tree/hypernodes.yaml")
DOCUMENTS = {
    "spine-leaf tree, soft": (*TREE, "three-level-tree/job-soft.yaml"),
    "spine-leaf tree, hard at tier 2": (*TREE, "three-level-tree/job-hard-tier-2.yaml"),
    "two RoCE networks": ("two-roce-networks",),
    "PyTorch job": ("demo/cluster.yaml", "samples/pytorch-job.yaml"),
    "use case 1": ("use-case-1/small.yaml",),
    "use case 2": ("use-case-2/small.yaml",),
}


@pytest.fixture
def live(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Live]:
    with started(tmp_path / "server") as plane:
        cluster = Live(plane, tmp_path)
        apply_kinds(cluster.writer)
        yield cluster
        cluster.close()


def objects_of(*names: str) -> list[dict[str, Any]]:
    documents = read_manifests([str(DATASETS / name) for name in names]).documents
    return [dict(document.data) for document, _ in mended_documents(documents)]


@pytest.mark.parametrize("names", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_documents_example_runs_and_lands_where_the_embedded_cluster_puts_it(
    live: Live, names: tuple[str, ...]
) -> None:
    objects = objects_of(*names)
    embedded = workbench.EmbeddedCluster("volcano")
    embedded.submit(*objects)
    embedded.run()
    expected = {row.name: row.node for row in embedded.pods()}
    assert expected
    live.nodes()
    live.operator()
    apply(live.writer, objects)
    live.until(lambda: live.nodes_of_pods() == expected, f"the placement {expected}")
    live.until(lambda: live.phases() == {row.phase for row in embedded.pods()}, "pods to run")


def granted(live: Live, **choices: Any) -> None:
    """Give the user `operator` the rights of the manifests."""
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"}
    for one in operator_manifests("system", "image", [], **choices):
        if "Role" in one["kind"]:
            where = one["metadata"].get("namespace")
            path = f"/apis/rbac.authorization.k8s.io/v1{f'/namespaces/{where}' if where else ''}/{one['kind'].lower()}s"
            live.plane.create({**one, "subjects": [subject]} if "subjects" in one else one, path)


def test_the_rights_of_the_manifests_are_enough(live: Live) -> None:
    granted(live, ssh=True)
    live.nodes()
    live.operator(user="operator")
    objects = objects_of("demo/cluster.yaml", "samples/pytorch-job.yaml")
    job = next(one for one in objects if one["kind"] == "Job")
    job["spec"]["plugins"] = {**job["spec"].get("plugins", {}), "ssh": [], "svc": [], "env": []}
    apply(live.writer, objects)
    live.until(lambda: set(live.job_phases().values()) == {"Running"}, "the Job to run")
    live.plane.ask("DELETE", f"/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{job['metadata']['name']}")
    live.until(lambda: not live.list("Pod"), "its pods to go")
    assert not any("may not" in line or "forbidden" in line.lower() for line in live.lines), live.lines
    secret = next(one for one in _secrets(live) if one["metadata"]["name"].endswith("-ssh"))
    keys = {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
    assert keys["id_rsa"].startswith("-----BEGIN RSA PRIVATE KEY-----") and keys["id_rsa.pub"].startswith("ssh-rsa ")


def test_without_the_plugin_ssh_named_secrets_are_readable_and_no_others(live: Live) -> None:
    granted(live, ssh=False, secrets=[("default", "fabric")])
    for name in ("fabric", "other"):
        live.plane.create({"metadata": {"name": name}}, "/api/v1/namespaces/default/secrets")
    connection = live.connection("operator")
    path = "/api/v1/namespaces/default/secrets"
    assert connection.get(f"{path}/fabric")["metadata"]["name"] == "fabric"
    for refused in (f"{path}/other", path):
        with pytest.raises(Forbidden):
            connection.get(refused)
    connection.close()
    live.nodes()
    live.operator(user="operator")
    apply(live.writer, objects_of("demo/cluster.yaml", "samples/pytorch-job.yaml"))
    live.until(lambda: set(live.job_phases().values()) == {"Running"}, "the Job to run")
    for name in live.job_phases():
        live.plane.ask("DELETE", f"/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs/{name}")
    live.until(lambda: not live.list("Pod"), "its pods to go")
    assert not any("may not" in line or "forbidden" in line.lower() for line in live.lines), live.lines


def _secrets(live: Live) -> list[dict[str, Any]]:
    found = live.plane.ask("GET", "/api/v1/secrets")[1]["items"]
    assert isinstance(found, list)
    return found


def test_the_manifests_are_accepted(live: Live, run: Run) -> None:
    options = ("--policy", "volcano-1.13", "--secret", "default/fabric", "--ssh", "--admission")
    written = run("operator", "manifests", *options)
    assert written.status == 0, written.err
    for data in yaml.safe_load_all(written.out):
        kind = data["kind"]
        group = data["apiVersion"]
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        space = data["metadata"].get("namespace")
        plural = {"NetworkPolicy": "networkpolicies"}.get(kind, f"{kind.lower()}s")
        path = f"{root}{f'/namespaces/{space}' if space else ''}/{plural}"
        status, answer = live.plane.ask("POST", path, data, fieldValidation="Strict")
        assert status == 201, answer


def test_pods_of_other_schedulers_are_left_alone(live: Live) -> None:
    live.nodes()
    live.operator()
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    theirs = {"metadata": {"name": "theirs", "namespace": "default"}}
    data = {"apiVersion": "v1", "kind": "Pod", **theirs, "spec": {"containers": [container]}}
    apply(live.writer, [data, *objects_of("demo/cluster.yaml", "samples/pytorch-job.yaml")])
    live.until(lambda: set(live.job_phases().values()) == {"Running"}, "the Job to run")
    stored = live.plane.ask("GET", "/api/v1/namespaces/default/pods/theirs")[1]
    assert stored["spec"]["schedulerName"] == "default-scheduler" and "nodeName" not in stored["spec"]
    assert "scheduling.k8s.io/group-name" not in (stored["metadata"].get("annotations") or {})


def test_a_hyperjob_runs_each_job_in_a_hypernode_of_its_own_and_is_compared(live: Live, run: Run) -> None:
    fabric = [dict(one) for one in generate("balanced", sizes="4,6", gpus=8) if one["kind"] != "Job"]
    (hyper_job,) = (one for one in objects_of("samples/hyperjob.yaml") if one["kind"] == "HyperJob")
    part = hyper_job["spec"]["replicatedJobs"][0]
    part["replicas"] = 5
    part["templateSpec"]["tasks"][0]["replicas"] = part["templateSpec"]["minAvailable"] = 4
    hyper_job["spec"]["minAvailable"] = 5
    embedded = workbench.EmbeddedCluster("volcano")
    embedded.submit(*fabric, hyper_job)
    embedded.run()
    expected = {row.name: row.node for row in embedded.pods()}
    assert len(expected) == 20 and all(expected.values())
    live.nodes()
    live.operator()
    apply(live.writer, [*fabric, hyper_job])
    live.until(lambda: live.nodes_of_pods() == expected, f"the placement {expected}")
    live.until(lambda: live.phases() == {"Running"}, "pods to run")
    compared = run("live", "compare", "--kubeconfig", str(live.config), "-o", "json")
    assert compared.status == 0, compared.err
    (told,) = compared.json
    assert (told["job"], told["verdict"], told["pods"], told["agrees"]) == (
        f"default/{hyper_job['metadata']['name']}",
        "placed",
        20,
        True,
    ), told


def test_a_job_whose_plugin_fails_is_terminated_after_the_last_retry(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All fifteen take 164 s.
    monkeypatch.setattr("workbench.control.retries.MOST_RETRIES", 5)
    live.nodes()
    live.operator()
    objects = objects_of("demo/cluster.yaml", "samples/pytorch-job.yaml")
    job = next(one for one in objects if one["kind"] == "Job")
    job["spec"]["plugins"] = {"ray": []}
    apply(live.writer, objects)
    live.until(lambda: set(live.job_phases().values()) == {"Terminated"}, "the Job to be terminated")
    assert live.list("Pod") == [] and any("FailedSync" in line and "head" in line for line in live.lines)


def test_the_policy_follows_the_configuration_of_the_clusters_scheduler(live: Live) -> None:
    maps = "/api/v1/namespaces/volcano-system/configmaps"
    live.plane.create({"metadata": {"name": "volcano-system"}}, "/api/v1/namespaces")

    def configure(text: str) -> None:
        data = {"metadata": {"name": "volcano-scheduler-configmap"}, "data": {"volcano-scheduler.conf": text}}
        if live.plane.ask("PUT", f"{maps}/volcano-scheduler-configmap", data)[0] == 404:
            live.plane.create(data, maps)

    def pod(name: str) -> dict[str, Any]:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        spec = {"schedulerName": "topology-workbench", "containers": [container]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}

    def joins(name: str) -> bool:
        """Whether a new pod goes to the node that has a pod, once it has a node."""
        apply(live.writer, [pod(name)])
        live.until(lambda: live.nodes_of_pods().get(name), "the pod to have a node")
        found = live.nodes_of_pods()
        return any(other != name and node == found[name] for other, node in found.items())

    tiers = "actions: allocate\ntiers:\n- plugins:\n  - name: predicates\n  - name: {}\n"
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "9"}
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"}, "status": {"allocatable": amounts}}
        for i in range(4)
    ]
    apply(live.writer, [*nodes, pod("first")])
    live.nodes()
    live.operator()
    live.until(lambda: live.nodes_of_pods()["first"], "the first pod to have a node")
    for text, wanted in ((tiers.format("binpack"), True), (tiers.format("nodeorder"), False)):
        told = len(live.lines)
        configure(text)
        live.until(lambda told=told: any("Configured" in line for line in live.lines[told:]), "it to be read")
        assert joins(f"with-{str(wanted).lower()}") is wanted
    configure("actions: [5")
    live.until(lambda: any("NotRead" in line for line in live.lines), "the broken text to be told")
    assert not joins("last"), "the configuration before goes on"
