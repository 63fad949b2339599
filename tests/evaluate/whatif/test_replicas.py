"""A LeaderWorkerSet in trials: one object, of which a fix for one replica changes all."""

from __future__ import annotations

from typing import Any

from tests.evaluate.whatif.field_clusters import scenario_of, template, thing
from workbench.evaluate.whatif.edit import EditedSession
from workbench.evaluate.whatif.fix import fix_report
from workbench.formats.edit_manifests.apply import apply_edits
from workbench.formats.edit_manifests.commands import kubectl_commands
from workbench.policies import get_policy

Json = dict[str, Any]
DOMAIN = "leaderworkerset.sigs.k8s.io"


def cluster(n_nodes: int, replicas: int, running: int) -> list[Json]:
    """Nodes of 8 GPUs, and a LeaderWorkerSet of groups of two whole nodes, of which the first so many run."""
    found = []
    for i in range(n_nodes):
        node = thing("v1", "Node", f"n{i}", {}, labels={"kubernetes.io/hostname": f"n{i}"})
        node["status"] = {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "20", "nvidia.com/gpu": "8"}}
        found.append(node)
    pods = template(8)
    pods["spec"].pop("restartPolicy")
    spec = {"replicas": replicas, "leaderWorkerTemplate": {"size": 2, "workerTemplate": pods}}
    found.append(thing("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "serve", spec, namespace="default"))
    for i in range(running):
        for k in range(2):
            pod = {"apiVersion": "v1", "kind": "Pod", **template(8, nodeName=f"n{2 * i + k}")}
            labels = {f"{DOMAIN}/name": "serve", f"{DOMAIN}/group-index": f"{i}", f"{DOMAIN}/worker-index": f"{k}"}
            name = f"serve-{i}-{k}" if k else f"serve-{i}"
            pod["metadata"] |= {"name": name, "namespace": "default", "labels": labels}
            found.append({**pod, "status": {"phase": "Running"}})
    return found


def test_a_fix_for_one_replica_is_tried_with_all_of_them_changed() -> None:
    scenario, policy = scenario_of(cluster(3, 2, 0)), get_policy("gang")
    waits = next(one.gang.key for one in policy.schedule(scenario.gangs, scenario.snapshot) if not one.placed)
    report = fix_report(policy, scenario.gangs, scenario.snapshot, waits)
    (smaller,) = [fix for fix in report.fixes if fix.edits[0].kind == "replicas"]
    case = smaller.edits[0].apply(EditedSession(tuple(scenario.gangs), scenario.snapshot, waits))
    assert [gang.n_pods for gang in case.gangs] == [1, 1]
    assert all(one.placed for one in policy.schedule(case.gangs, case.snapshot))


def test_running_replicas_restart_and_it_is_said() -> None:
    objects = cluster(3, 2, 1)
    scenario, policy = scenario_of(objects), get_policy("gang")
    report = fix_report(policy, scenario.gangs, scenario.snapshot, "default/serve-1")
    (smaller,) = [fix for fix in report.fixes if fix.edits[0].kind == "replicas"]
    assert smaller.text == "1 instead of 2 pods of main (size 1) (then default/serve-0 restarts)"
    assert [one.to_dict() for one in smaller.others] == [
        {"job": "default/serve-0", "effect": "restarts", "pods": 2, "gpus": 16}
    ]
    assert smaller.costs
    commands = kubectl_commands(objects, [smaller.edits[0].to_dict()])
    assert any(line.endswith("kubectl replace --force -f FILE, which ends its running pods") for line in commands)
    (first,) = kubectl_commands(cluster(3, 2, 0), [smaller.edits[0].to_dict()])
    assert "running" not in first


def test_no_replica_of_a_set_is_withdrawn_by_itself() -> None:
    scenario, policy = scenario_of(cluster(2, 2, 0)), get_policy("gang")
    waits = next(one.gang.key for one in policy.schedule(scenario.gangs, scenario.snapshot) if not one.placed)
    report = fix_report(policy, scenario.gangs, scenario.snapshot, waits)
    kinds = {edit.kind for fix in report.fixes for edit in fix.edits}
    assert kinds and not kinds & {"withdraw", "priority"}


def test_a_running_set_ends_as_a_whole_with_its_pending_replicas() -> None:
    """Nobody can end one replica of a LeaderWorkerSet: its controller makes it again."""
    other = thing("batch/v1", "Job", "train", {"parallelism": 1, "template": template(8)}, namespace="default")
    objects = [*cluster(4, 3, 2), other]
    scenario, policy = scenario_of(objects), get_policy("gang")
    report = fix_report(policy, scenario.gangs, scenario.snapshot, "default/train", classes=("evict",))
    (ended,) = report.fixes
    (edit,) = ended.edits
    assert ended.text == "end default/serve (4 pods, 32 GPUs)"
    assert {one.job: one.effect for one in ended.others} == {"default/serve": "ends", "default/serve-2": "withdrawn"}
    commands = kubectl_commands(objects, [edit.to_dict()])
    assert commands[0] == "kubectl -n default delete leaderworkersets.leaderworkerset.x-k8s.io serve"
    after = scenario_of(apply_edits(objects, [edit.to_dict()]))
    assert [gang.key for gang in after.gangs] == ["default/train"] and not after.snapshot.running


def test_the_set_of_the_job_itself_does_not_end() -> None:
    scenario, policy = scenario_of(cluster(4, 3, 2)), get_policy("gang")
    report = fix_report(policy, scenario.gangs, scenario.snapshot, "default/serve-2", classes=("evict",))
    assert not report.fixes


def test_pods_of_a_daemon_set_do_not_end() -> None:
    """The DaemonSet would make the pod again at once; one pod of a StatefulSet can go when it is scaled down."""
    pods = []
    for name, labels in {
        "agent-x": {"controller-revision-hash": "a", "pod-template-generation": "1"},
        "db-0": {"controller-revision-hash": "b", "statefulset.kubernetes.io/pod-name": "db-0"},
    }.items():
        pod = {"apiVersion": "v1", "kind": "Pod", **template(4, nodeName="n0"), "status": {"phase": "Running"}}
        pod["metadata"] |= {"name": name, "namespace": "default", "labels": labels}
        pods.append(pod)
    job = thing("batch/v1", "Job", "train", {"parallelism": 1, "template": template(4)}, namespace="default")
    scenario, policy = scenario_of([*cluster(1, 0, 0), *pods, job]), get_policy("gang")
    report = fix_report(policy, scenario.gangs, scenario.snapshot, "default/train", classes=("evict",))
    assert [fix.text for fix in report.fixes] == ["end default/db-0 (1 pod, 4 GPUs)"]
