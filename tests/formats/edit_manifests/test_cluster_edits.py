"""Edits of queues, nodes and running jobs: read again, the cluster differs in what the edit says, and in that alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.formats.edit_manifests.forms import (
    FORMS,
    UID,
    VOLCANO,
    Manifest,
    job,
    nodes,
    pod,
    started,
    with_objects,
)
from tests.formats.edit_manifests.test_job_edits import edited, read
from tests.formats.same_scenario import assert_same, snapshot_parts
from workbench.errors import InputError
from workbench.formats.edit_manifests.apply import apply_edits
from workbench.formats.edit_manifests.commands import kubectl_commands
from workbench.formats.fabric.tor_node import tor_config_map
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot, Queue
from workbench.objects.tor_node import Tor, TorNodeTable, TorServer

#: Forms whose pods exist.
WITH_PODS = [form for form in FORMS if form not in ("Job", "Deployment", "HyperJob", "HyperJob of the document")]


def queue(name: str, **spec: Any) -> Manifest:
    return {"apiVersion": VOLCANO, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def of_queue(kind: str, before: Any, after: Any, name: str = "q") -> dict[str, Any]:
    return {"kind": kind, "subject": f"queue {name}", "from": before, "to": after}


def of_nodes(kind: str, before: Any, after: Any, *names: str) -> dict[str, Any]:
    return {"kind": kind, "subject": "nodes", "from": before, "to": after, "nodes": list(names)}


def finished(subject: str) -> dict[str, Any]:
    return {"kind": "finish", "subject": subject, "from": "running", "to": "ended"}


def assert_cluster(found: Scenario, before: Scenario, wanted: ClusterSnapshot) -> None:
    assert_same(found, replace(before, snapshot=wanted))


@pytest.mark.parametrize(
    ("field", "path"), [("capability", "capability"), ("deserved", "deserved"), ("guarantee", "guarantee")]
)
def test_an_amount_of_a_queue(field: str, path: str) -> None:
    amounts = {"nvidia.com/gpu": "64", "cpu": "100"}
    spec: Manifest = {"weight": 2, path: {"resource": amounts} if path == "guarantee" else amounts}
    change = of_queue(f"queue-{field}", {"nvidia.com/gpu": "64"}, {"nvidia.com/gpu": "72"})
    before, after, _ = edited([*nodes(), queue("q", **spec)], change)
    old = before.snapshot.queues["q"]
    new = replace(old, **{field: {"nvidia.com/gpu": 72, "cpu": 100_000}})  # type: ignore[arg-type]
    assert_cluster(after, before, replace(before.snapshot, queues={**before.snapshot.queues, "q": new}))


def test_a_limit_that_goes_and_one_that_comes() -> None:
    start = [*nodes(), queue("q", capability={"cpu": "1", "nvidia.com/gpu": "1"})]
    change = of_queue("queue-capability", {"cpu": "1"}, {"cpu": None, "memory": "1Gi"})
    _, after, _ = edited(start, change)
    assert after.snapshot.queues["q"].capability == {"nvidia.com/gpu": 1, "memory": 1 << 30}


def test_a_weight_of_the_queue_that_is_always_there() -> None:
    _, after, _ = edited(nodes(), of_queue("queue-weight", 1, 3, "default"))
    assert after.snapshot.queues["default"] == Queue("default", weight=3)
    with pytest.raises(InputError, match=r"edit queue-weight of queue other: no Queue of this name"):
        apply_edits(nodes(), [of_queue("queue-weight", 1, 3, "other")])


def test_a_cordoned_node_is_usable_again() -> None:
    start = nodes()
    start[1]["spec"] = {
        "unschedulable": True,
        "taints": [
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
            {"key": "team", "value": "x", "effect": "NoSchedule"},
        ],
    }
    _, after, result = edited(start, of_nodes("uncordon", "cordoned", "schedulable", "n1"))
    wanted = nodes()
    wanted[1]["spec"] = {"taints": [{"key": "team", "value": "x", "effect": "NoSchedule"}]}
    assert result == wanted
    assert not after.snapshot.unschedulable.any()


def test_a_node_becomes_ready() -> None:
    start = nodes()
    start[2]["status"]["conditions"] = [
        {"type": "MemoryPressure", "status": "True"},
        {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"},
    ]
    keys = ("not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable")
    start[2]["spec"] = {"taints": [{"key": f"node.kubernetes.io/{key}", "effect": "NoSchedule"} for key in keys]}
    _, after, result = edited(start, of_nodes("ready", "not ready", "ready", "n2"))
    assert_same(after, read(nodes()))
    assert [one["status"] for one in result[2]["status"]["conditions"]] == ["False", "True"]


@pytest.mark.parametrize(
    ("text", "taint"),
    [
        ("team=x:NoSchedule", {"key": "team", "value": "x", "effect": "NoSchedule"}),
        ("team:NoSchedule", {"key": "team", "effect": "NoSchedule"}),
        ("team=:NoSchedule", {"key": "team", "value": "", "effect": "NoSchedule"}),
    ],
)
def test_a_taint_is_removed_from_some_nodes(text: str, taint: Manifest) -> None:
    start = nodes()
    for one in start[:4]:
        one["spec"] = {"taints": [dict(taint), {"key": "team", "value": "y", "effect": "NoExecute"}]}
    _, after, _ = edited(start, of_nodes("untaint", text, None, "n0", "n3"))
    assert [len(after.snapshot.taints.sets[i]) for i in after.snapshot.taints.codes] == [1, 2, 2, 1]


def test_terminating_pods_are_gone() -> None:
    start = [*nodes(), *started([pod("a", deletionTimestamp="2026-01-01T00:00:00Z"), pod("b")])]
    change = {"kind": "wait", "subject": "terminating pods", "from": 1, "to": 0, "pods": ["default/a"]}
    before, after, _ = edited(start, change)
    assert_cluster(after, before, before.snapshot.after_endings)
    with pytest.raises(InputError, match="the pod is not terminating"):
        apply_edits(start, [{**change, "pods": ["default/b"]}])


@pytest.mark.parametrize("form", WITH_PODS)
def test_no_pod_comes_back_in_the_place_of_a_terminating_one(form: str) -> None:
    start = [*nodes(), *on_nodes(FORMS[form]())]
    pods = [one for manifest in start for one in manifest.get("items", [manifest]) if one["kind"] == "Pod"]
    for one in pods[:2]:
        one["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    keys = [f"default/{one['metadata']['name']}" for one in pods[:2]]
    change = {"kind": "wait", "subject": "terminating pods", "from": len(keys), "to": 0, "pods": keys}
    before, after, _ = edited(start, change)
    wanted = before.snapshot.after_endings
    # Which GPUs they hold, the pods do not say.
    assert [(one.name, one.node) for one in after.snapshot.running] == [(one.name, one.node) for one in wanted.running]
    assert np.array_equal(after.snapshot.used, wanted.used)
    assert [gang.key for gang in after.gangs] == [gang.key for gang in before.gangs]
    assert [gang.n_pods for gang in after.gangs] == [gang.n_pods for gang in before.gangs]
    lines = kubectl_commands(start, [change])
    assert len(lines) == len(keys)
    assert all("wait --for=delete" in line for line in lines)


@pytest.mark.parametrize("form", WITH_PODS)
def test_a_running_job_ends_and_leaves_nothing_behind(form: str) -> None:
    other = started(with_objects(job("other", "22222222-0000-4000-8000-000000000002")))
    start = [*nodes(), *other, *on_nodes(FORMS[form]())]
    key = "pod default/train" if form == "Pod" else "job default/train"
    before, after, result = edited(start, finished(key))
    assert before.gangs == ()
    names = {"default/train"} | {f"default/train-a-{i}" for i in range(2)}
    ended = before.snapshot.without_pods(lambda one: one.gang in names or one.name == "train")
    for name in names:
        ended = ended.without_record(name)
    assert_cluster(after, before, ended)
    assert [one["metadata"]["name"] for one in result if one["metadata"]["name"].startswith("train")] == []


def on_nodes(manifests: list[Manifest]) -> list[Manifest]:
    if manifests[0]["kind"] == "List":
        return [{**manifests[0], "items": started(manifests[0]["items"])}]
    return started(manifests)


def test_pods_of_a_deployment_in_a_pod_group_do_not_come_back() -> None:
    """Volcano makes a PodGroup for the pods of a ReplicaSet."""
    made = started(FORMS["Deployment with pods"]())
    for one in made[2:]:
        one["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = "podgroup-rs"
    group = {"apiVersion": VOLCANO, "kind": "PodGroup", "metadata": {"name": "podgroup-rs"}, "spec": {"minMember": 4}}
    _, after, result = edited([*nodes(), group, *made], finished("job default/podgroup-rs"))
    assert (after.gangs, after.snapshot.running) == ((), ())
    assert len(result) == len(nodes())


def test_a_job_of_a_hyper_job_ends_and_is_not_made_again() -> None:
    made = FORMS["HyperJob with Jobs"]()
    # The second Job waits.
    first = started(made[1:7])
    before, after, _ = edited([*nodes(), made[0], *first, *made[7:]], finished("job default/train-a-0"))
    assert_cluster(after, before, before.snapshot.without("default/train-a-0").without_record("default/train"))


def test_terminating_pods_of_a_job_that_ends_hold_their_resources() -> None:
    made = started(with_objects(job(uid=UID)))
    made[-1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    before, after, _ = edited([*nodes(), *made], finished("job default/train"))
    [left] = after.snapshot.running
    assert (left.name, left.terminating, after.gangs) == ("train-worker-2", True, ())
    assert np.array_equal(after.snapshot.used, before.snapshot.without("default/train").used)


def test_a_job_with_running_pods_keeps_them_when_it_is_withdrawn() -> None:
    made = with_objects(job(uid=UID))
    # The third worker has no pod yet.
    started(made[2:4])
    change = {"kind": "withdraw", "subject": "job default/train", "from": "pending", "to": "withdrawn"}
    before, after, _ = edited([*nodes(), *made[:-1]], change)
    assert [gang.key for gang in before.gangs] == ["default/train"]
    assert_same(after, replace(before, gangs=()))


@pytest.mark.parametrize("form", ["PodGroup", "Deployment with pods", "HyperJob with Jobs"])
def test_other_jobs_with_running_pods_keep_them_when_they_are_withdrawn(form: str) -> None:
    made = FORMS[form]()
    first = next(i for i, one in enumerate(made) if one["kind"] == "Pod")
    started(made[first : first + 2])
    change = {"kind": "withdraw", "subject": "job default/train", "from": "pending", "to": "withdrawn"}
    before, after, _ = edited([*nodes(), *made], change)
    assert len(before.snapshot.running) == 2
    assert len(before.gangs) == 1
    assert_same(after, replace(before, gangs=()))


def test_running_pods_of_a_koordinator_gang_stay_when_it_is_withdrawn() -> None:
    made = FORMS["Gang"]()
    started(made[:2])
    change = {"kind": "withdraw", "subject": "job default/train", "from": "pending", "to": "withdrawn"}
    before, after, _ = edited([*nodes(), *made], change)
    assert after.gangs == ()
    assert [one.name for one in after.snapshot.running] == [one.name for one in before.snapshot.running]


def test_running_pods_move() -> None:
    gpus = {"topology.scheduling.koordinator.sh/gpu": '{"allocatedGPUs":{"0":["4","5"]},"visibleGPUs":["4","5"]}'}
    made = started([pod("a-0", annotations=gpus), pod("a-1", annotations=dict(gpus))], {"a-0": "n0", "a-1": "n0"})
    for one in made:
        one["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = "a"
    group = {"apiVersion": VOLCANO, "kind": "PodGroup", "metadata": {"name": "a"}, "spec": {"minMember": 2}}
    change = {"kind": "move", "subject": "job default/a", "from": {"a-1": "n0"}, "to": {"a-1": "n3"}}
    _, after, _ = edited([*nodes(), group, *made], change)
    where = {one.name: (one.node, one.gpu_mask) for one in after.snapshot.running}
    assert where == {"a-0": (0, 0b110000), "a-1": (3, 0b11)}
    with pytest.raises(InputError, match="no Node of this name"):
        apply_edits([*nodes(), group, *made], [{**change, "to": {"a-1": "n9"}}])


def _added(subject: str, *names: str, like: str = "n0") -> dict[str, Any]:
    return {
        "kind": "add-nodes",
        "subject": subject,
        "from": 2,
        "to": 2 + len(names),
        "like": like,
        "names": list(names),
    }


def members(scenario: Scenario, hypernode: str) -> list[str]:
    topology = scenario.snapshot.topology
    return [topology.node_names[i] for i in topology.nodes_of(topology.domain(hypernode))]


def test_new_nodes_in_a_hypernode() -> None:
    start = nodes()
    start[0]["spec"] = {"unschedulable": True, "taints": [{"key": "a", "effect": "NoSchedule"}], "providerID": "x"}
    start[0]["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    start[0]["status"]["addresses"] = [{"type": "InternalIP", "address": "10.0.0.1"}]
    before, after, _ = edited(start, _added("HyperNode rack-1", "new-0", "new-1"))
    topology = after.snapshot.topology
    assert members(after, "rack-1") == ["n2", "n3", "new-0", "new-1"]
    for name in ("new-0", "new-1"):
        i = topology.node(name)
        assert np.array_equal(after.snapshot.allocatable[i], before.snapshot.allocatable[0])
        assert after.snapshot.labels.rows()[i] == {"kubernetes.io/hostname": name, "disk": "fast", "zone": "a"}
        assert not after.snapshot.unschedulable[i]
        assert after.snapshot.taints.sets[after.snapshot.taints.codes[i]] == ()
        assert not after.snapshot.node_uids or not after.snapshot.node_uids[i]
        assert after.snapshot.address_of(i) == ""
    assert snapshot_parts(before.snapshot)["queues"] == snapshot_parts(after.snapshot)["queues"]


def test_a_new_node_outside_of_every_hypernode() -> None:
    _, after, _ = edited(nodes(), _added("cluster", "new-0"))
    topology = after.snapshot.topology
    assert after.snapshot.n_nodes == 5
    assert not any(topology.node("new-0") in topology.nodes_of(j) for j in range(topology.n_domains))


def test_a_hypernode_that_selects_a_new_node_needs_no_member() -> None:
    start = nodes()
    start[4]["spec"]["members"] = [{"type": "Node", "selector": {"regexMatch": {"pattern": "^(n[01]|new-.*)$"}}}]
    start[5]["spec"]["members"] = [
        {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"kubernetes.io/hostname": name}}}}
        for name in ("n2", "n3")
    ]
    _, after, result = edited(start, _added("HyperNode rack-0", "new-0"))
    assert result[4] == start[4]
    assert members(after, "rack-0") == ["n0", "n1", "new-0"]
    _, after, result = edited(start, _added("HyperNode rack-1", "new-0", like="n2"))
    assert len(result[5]["spec"]["members"]) == 3


def test_a_new_node_has_the_gpus_of_the_old_one() -> None:
    start = nodes()
    table = "[[0,1],[1,0]]"
    start.append(
        {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "Device",
            "metadata": {"name": "n0", "uid": "d"},
            "spec": {
                "devices": [{"type": "gpu", "minor": i, "health": i == 1} for i in range(2)],
                "topologies": {"gpu": [{"name": "bandwidth", "topology": table}]},
            },
        }
    )
    _, after, _ = edited(start, _added("HyperNode rack-0", "new-0"))
    i = after.snapshot.topology.node("new-0")
    assert after.snapshot.gpu_total[i].tolist() == [0b10]
    assert after.snapshot.node_matrix[i] == after.snapshot.node_matrix[0] >= 0


def test_a_new_node_under_a_switch() -> None:
    servers = [TorServer(f"n{i}", 8, i) for i in range(2)]
    table = tor_config_map(TorNodeTable((Tor(0, "s0", tuple(servers)), Tor(1, "s1", (TorServer("n2", 8, 0),))), 4))
    # The HyperNodes are derived from the switch table.
    _, after, _ = edited([*nodes()[:4], table], _added("HyperNode tor-1", "new-0"))
    topology = after.snapshot.topology
    assert members(after, "tor-1") == ["n2", "new-0"]
    assert after.snapshot.switch_table is not None
    assert after.snapshot.switch_table.nodes_of(1).tolist() == [2, topology.node("new-0")]


def test_a_new_node_needs_a_new_name_and_a_hypernode_that_is_there() -> None:
    with pytest.raises(InputError, match="a node of this name is there already"):
        apply_edits(nodes(), [_added("cluster", "n1")])
    with pytest.raises(InputError, match="no HyperNode of this name"):
        apply_edits(nodes(), [_added("HyperNode rack-9", "new-0")])
    with pytest.raises(InputError, match="no Node of this name"):
        apply_edits(nodes(), [_added("cluster", "new-0", like="n9")])
