"""What a gang asks of the topology in any scheduler's words is kept by a policy, or a notice says that it is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evaluate.whatif.field_clusters import HOST, KUEUE, scenario_of, template, thing
from workbench.policies import get_policy, list_policies

Json = dict[str, Any]

#: Two racks of two nodes with eight GPUs.
RACKS = {f"n{i}": f"r{i // 2}" for i in range(4)}

_TERM = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "rack"}
_SPREAD = {**_TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
_TOGETHER = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_TERM]}}


def cluster() -> list[Json]:
    found = []
    for name, rack in RACKS.items():
        node = thing("v1", "Node", name, {}, labels={HOST: name, "rack": rack})
        node["status"] = {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "20", "nvidia.com/gpu": "8"}}
        found.append(node)
    for rack in dict.fromkeys(RACKS.values()):
        selector = {"labelMatch": {"matchLabels": {"rack": rack}}}
        spec = {"tier": 1, "tierName": "rack", "members": [{"type": "Node", "selector": selector}]}
        found.append(thing("topology.volcano.sh/v1alpha1", "HyperNode", rack, spec))
    return found


def volcano(task: Json | None = None, template_: Json | None = None, **spec: Any) -> list[Json]:
    """A Volcano Job of three pods that each fill a node, which no rack holds."""
    tasks = [{"name": "w", "replicas": 3, "template": template_ or template(8), **(task or {})}]
    spec = {"schedulerName": "volcano", "minAvailable": 3, "tasks": tasks, **spec}
    return [thing("batch.volcano.sh/v1alpha1", "Job", "j", spec, namespace="default")]


def batch(**annotations: str) -> list[Json]:
    named = {f"{KUEUE}/podset-{key.replace('_', '-')}": value for key, value in annotations.items()}
    spec = {"parallelism": 3, "completions": 3, "template": template(8, annotations=named)}
    return [thing("batch/v1", "Job", "j", spec, namespace="default")]


def pod_group(key: str) -> list[Json]:
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}, "schedulingConstraints": {"topology": [{"key": key}]}}
    found = [thing("scheduling.k8s.io/v1alpha3", "PodGroup", "j", spec, namespace="default")]
    for i in range(3):
        pod = {"apiVersion": "v1", "kind": "Pod", **template(8, schedulingGroup={"podGroupName": "j"})}
        pod["metadata"] |= {"name": f"j-{i}", "namespace": "default"}
        found.append({**pod, "status": {"phase": "Pending"}})
    return found


WISHES: dict[str, list[Json]] = {
    "hard tier": volcano(networkTopology={"mode": "hard", "highestTierAllowed": 1}),
    "soft tier": volcano(networkTopology={"mode": "soft", "highestTierAllowed": 1}),
    "hard tier of parts": volcano(
        {
            "partitionPolicy": {
                "totalPartitions": 1,
                "partitionSize": 3,
                "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            }
        }
    ),
    "required level of Kueue": batch(required_topology="rack"),
    "preferred level of Kueue": batch(preferred_topology="rack"),
    "slices of Kueue": batch(slice_required_topology="rack", slice_size="3"),
    "topology key of a PodGroup": pod_group("rack"),
    "pods together": volcano(template_=template(8, labels={"app": "a"}, affinity=_TOGETHER)),
    "pods spread": volcano(template_=template(8, labels={"app": "a"}, topologySpreadConstraints=[_SPREAD])),
}
#: Notices that say what is left out of a request.
NOT_READ = {
    *("not-expressed", "sub-groups-merged", "kueue-request-not-read", "kube-groups-not-read", "pod-rules-not-read"),
}
#: Wishes that three pods in two racks meet: a soft one has no other, and two and one are spread.
MET = {"soft tier", "preferred level of Kueue", "pods spread"}
#: Schedulers that read a wish which the cluster can meet.
READ_BY = {
    "soft tier": ("volcano-", "kueue-", "koordinator-network"),
    "preferred level of Kueue": ("kueue-",),
    "pods spread": ("kube-",),
}
NODE_POLICIES = [policy.name for policy in list_policies() if policy.kind != "gpu"]


@pytest.mark.slow
@pytest.mark.parametrize("wish", WISHES)
def test_a_wish_is_kept_or_said_to_be_left_out(wish: str) -> None:
    scenario = scenario_of([*cluster(), *WISHES[wish]])
    silent = []
    for name in NODE_POLICIES:
        (decision,) = get_policy(name).schedule(scenario.gangs, scenario.snapshot)
        told = {notice.code for notice in decision.result.warnings} & NOT_READ
        kept = name.startswith(READ_BY[wish]) if wish in MET else not decision.placed
        if not told and not kept:
            silent.append(name)
    assert not silent
