"""uid and resourceVersion of the objects of a cluster reach gangs, pods, nodes, snapshot files and JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench
from tests.jobs.test_gangs import containers, job, task
from workbench.errors import InputError
from workbench.evaluate.records import decision_record
from workbench.formats.snapshot_file import save
from workbench.model.gang import Role
from workbench.model.scenario import Scenario


def identified(manifest: dict[str, Any], uid: str, version: str) -> dict[str, Any]:
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "uid"}
    if uid:
        metadata |= {"uid": uid, "resourceVersion": version}
    return {**manifest, "metadata": metadata}


def node(name: str, uid: str = "") -> dict[str, Any]:
    status = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "9"}}
    manifest = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
    return identified(manifest, uid, f"of {uid}")


def pod(name: str, uid: str, on: str = "", owner: str = "", group: str = "", role: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "ns"}
    if owner:
        metadata["ownerReferences"] = [{"kind": "Job", "name": owner, "controller": True}]
    annotations = {"scheduling.k8s.io/group-name": group} if group else {}
    annotations |= {"volcano.sh/task-spec": role} if role else {}
    spec = {**containers(), "nodeName": on} if on else containers()
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "annotations": annotations},
        "spec": spec,
        "status": {"phase": "Running" if on else "Pending"},
    }
    return identified(manifest, uid, f"of {uid}")


def pod_group(name: str, uid: str) -> dict[str, Any]:
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "spec": {"minMember": 1}}
    return identified({**group, "metadata": {"name": name, "namespace": "ns"}}, uid, f"of {uid}")


@pytest.fixture
def load(tmp_path):
    def read(*manifests: dict[str, Any]) -> Scenario:
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)}))
        return workbench.load(path)

    return read


def ids(gang) -> list[tuple[str, str, str]]:
    return [(pod.name, pod.uid, pod.resource_version) for pod in gang.pods()]


def test_nodes_keep_theirs_in_the_order_of_the_topology(load):
    snapshot = load(node("b", "u-b"), node("a"), node("c", "u-c")).snapshot
    found = {name: (snapshot.node_uids[i], snapshot.node_resource_versions[i]) for i, name in enumerate("abc")}
    assert snapshot.topology.node_names == ("a", "b", "c")
    assert found == {"a": ("", ""), "b": ("u-b", "of u-b"), "c": ("u-c", "of u-c")}


def test_a_cluster_whose_nodes_have_none_keeps_nothing(load):
    snapshot = load(node("a"), node("b")).snapshot
    assert (snapshot.node_uids, snapshot.node_resource_versions) == (None, None)


def test_a_job_and_those_of_its_pods_that_exist(load):
    stored = identified(job(task("w", 4)), "u-j", "12")
    running = pod("j-w-0", "u-0", "a", "j", role="w")
    (gang,) = load(node("a"), stored, running, pod("j-w-2", "u-2", "", "j", role="w")).gangs
    assert (gang.uid, gang.resource_version, gang.stored) == ("u-j", "12", True)
    assert ids(gang) == [("j-w-1", "", ""), ("j-w-2", "u-2", "of u-2"), ("j-w-3", "", "")]


def test_a_job_of_a_manifest_has_none(load):
    (gang,) = load(node("a"), identified(job(task("w", 2)), "", "")).gangs
    assert (gang.uid, gang.resource_version, gang.stored) == ("", "", False)
    assert gang.roles[0].pod_uids is None and gang.roles[0].pod_resource_versions is None


def test_a_pod_group_and_its_pods(load):
    (gang,) = load(node("a"), pod_group("g", "u-g"), pod("x", "u-x", group="g"), pod("y", "", group="g")).gangs
    assert (gang.uid, gang.resource_version, gang.stored) == ("u-g", "of u-g", True)
    assert ids(gang) == [("x", "u-x", "of u-x"), ("y", "", "")]


def test_a_lone_pod_is_its_own_object(load):
    (gang,) = load(node("a"), pod("x", "u-x")).gangs
    assert (gang.uid, gang.resource_version) == ("u-x", "of u-x")
    # Its constraint is an annotation, which nobody fills in.
    assert not gang.stored


def test_a_running_pod_and_a_snapshot_file(load, tmp_path):
    snapshot = load(node("a", "u-a"), node("b"), pod("x", "u-x", on="a"), pod("y", "", on="b")).snapshot
    save(snapshot, tmp_path / "s.json")
    again = workbench.load(tmp_path / "s.json").snapshot
    for each in (snapshot, again):
        assert [(pod.name, pod.uid, pod.resource_version) for pod in each.running] == [
            ("x", "u-x", "of u-x"),
            ("y", "", ""),
        ]
        assert (each.node_uids, each.node_resource_versions) == (("u-a", ""), ("of u-a", ""))


def test_a_snapshot_file_with_too_few_uids_is_refused(load, tmp_path):
    save(load(node("a", "u-a"), node("b")).snapshot, tmp_path / "s.json")
    record = json.loads((tmp_path / "s.json").read_text())
    record["node_uids"] = ["u-a"]
    (tmp_path / "s.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"node_uids.*one per node, 2, or none"):
        workbench.load(tmp_path / "s.json")


def test_a_pod_that_starts_keeps_its_uid_and_not_the_version_it_waited_with(load):
    scenario = load(node("a"), pod("x", "u-x"))
    (decision,) = workbench.schedule(scenario.gangs, scenario.snapshot)
    (started,) = scenario.snapshot.with_placement(decision.result).running
    assert (started.uid, started.resource_version) == ("u-x", "")


def test_the_json_of_an_answer_names_them_where_there_are_some(load):
    stored = identified(job(task("w", 2)), "u-j", "12")
    scenario = load(node("a"), stored, pod("j-w-1", "u-1", "", "j", role="w"))
    (decision,) = workbench.schedule(scenario.gangs, scenario.snapshot)
    record = decision_record(decision)
    assert (record["uid"], record["resource_version"]) == ("u-j", "12")
    first, second = record["pods"]
    assert "uid" not in first and "resource_version" not in first
    assert (second["name"], second["uid"], second["resource_version"]) == ("j-w-1", "u-1", "of u-1")


def test_a_role_with_other_pods_needs_other_uids():
    with pytest.raises(InputError, match="one entry per pending pod"):
        Role("w", 3, {"cpu": 1000}, pod_uids=("a", "b"))


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
def test_what_is_no_text_is_refused(load, field):
    manifest = node("a")
    manifest["metadata"][field] = 7
    with pytest.raises(InputError, match=rf"metadata\.{field}"):
        load(manifest)
