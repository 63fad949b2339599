"""Sub-groups of gangs, from the manifests that ask for them."""

from __future__ import annotations

import dataclasses

from workbench.formats.load import load
from workbench.jobs.group_pods import SubGroups
from workbench.objects.partition import SubGroupPolicy
from workbench.objects.pod import Pod, PodSpec, read_pod

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  labels: {{{labels}}}
  annotations: {{scheduling.k8s.io/group-name: g}}
spec:
  nodeName: {node}
  containers: [{{name: c, resources: {{requests: {{cpu: "1"}}}}}}]
status: {{phase: {phase}}}
"""


def pod(name: str, phase: str) -> Pod:
    return read_pod({"metadata": {"name": name}, "spec": {"nodeName": "n0"}, "status": {"phase": phase}})


def test_the_first_policy_that_takes_a_pod_has_it_and_one_without_keys_takes_none():
    groups = SubGroups(
        [
            SubGroupPolicy("none"),
            SubGroupPolicy("a", size=2, match_label_keys=("k",)),
            SubGroupPolicy("b", match_label_keys=("l",)),
        ]
    )
    groups.add_pending(0, {"k": "10", "l": "x"})
    groups.add_pending(1, {"k": "9"})
    groups.add_pending(2, {"l": "x"})
    groups.add_started(pod("r", "Running"), {"k": "10"})
    groups.add_pending(3, {})
    made = groups.make()
    assert [(g.name, g.pods, g.running, g.min_available) for g in made] == [
        ("a-9", (1,), (), 2),
        ("a-10", (0,), ("r",), 2),
        ("b-x", (2,), (), 1),
    ]


def test_pods_that_neither_run_nor_succeeded_make_no_sub_group():
    groups = SubGroups([SubGroupPolicy("a", size=1, match_label_keys=("k",))])
    groups.add_started(pod("f", "Failed"), {"k": "0"})
    groups.add_started(dataclasses.replace(pod("g", "Pending"), spec=PodSpec({}), gated=True), {"k": "1"})
    assert groups.make() == ()


def test_pods_that_succeeded_belong_to_their_sub_group_and_pods_that_failed_do_not():
    groups = SubGroups([SubGroupPolicy("a", size=3, match_label_keys=("k",))])
    groups.add_pending(0, {"k": "0"})
    for name, phase in (("r", "Running"), ("s", "Succeeded"), ("f", "Failed")):
        groups.add_started(pod(name, phase), {"k": "0"})
    for name in "tuvw":
        groups.add_started(pod(name, "Succeeded"), {"k": "1"})
    assert [(g.name, g.pods, g.running, g.min_available, len(g.succeeded)) for g in groups.make()] == [
        ("a-0", (0,), ("r",), 3, 1),
        ("a-1", (), (), 3, 4),
    ]


def test_partitions_of_a_task_are_sub_groups_and_pods_of_other_tasks_are_not():
    job = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j, namespace: default}
spec:
  tasks:
  - name: master
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
  - name: worker
    replicas: 4
    partitionPolicy:
      {totalPartitions: 2, partitionSize: 2, minPartitions: 1, networkTopology: {highestTierAllowed: 1, mode: hard}}
    template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
"""
    running = POD.format(
        name="j-worker-1",
        labels="volcano.sh/job-name: j, volcano.sh/task-spec: worker, volcano.sh/partition-id: '0'",
        node="n0",
        phase="Running",
    )
    gang = load(
        "-", stdin=job + "---" + running.replace("  annotations: {scheduling.k8s.io/group-name: g}\n", "")
    ).gangs[0]
    assert gang.n_pods == 4
    assert [(g.name, g.policy, g.pods, g.running, g.min_available) for g in gang.sub_groups] == [
        ("worker-0", "worker", (1,), ("j-worker-1",), 2),
        ("worker-1", "worker", (2, 3), (), 2),
    ]
    assert [gang.pod(i).name for i in gang.sub_groups[1].pods] == ["j-worker-2", "j-worker-3"]
    assert gang.min_subgroups == {"worker": 1}
    # One master and one partition of two: the minimum that the webhook fills in.
    assert gang.min_available == 3
    assert gang.sub_groups[0].constraint.highest_tier == 1


def test_pods_of_a_pod_group_join_by_their_own_labels():
    group = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g, namespace: default}
spec:
  minMember: 3
  subGroupPolicy:
  - {name: w, subGroupSize: 2, matchLabelKeys: [rack]}
"""
    pods = [("a", "rack: '1'", "", "Pending"), ("b", "rack: '0'", "", "Pending"), ("c", "rack: '1'", "", "Pending")]
    pods += [("d", "x: y", "", "Pending"), ("e", "rack: '0'", "n0", "Running"), ("f", "rack: '0'", "n0", "Succeeded")]
    text = group + "".join("---" + POD.format(name=n, labels=lab, node=node, phase=ph) for n, lab, node, ph in pods)
    (gang,) = load("-", stdin=text).gangs
    assert [(g.name, [gang.pod(i).name for i in g.pods], g.running, len(g.succeeded)) for g in gang.sub_groups] == [
        ("w-0", ["b"], ("e",), 1),
        ("w-1", ["a", "c"], (), 0),
    ]
    assert gang.sub_grouped
