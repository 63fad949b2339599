"""Write the cases of this folder: one file of Kubernetes objects each, and `cases.json`.

Run from the root of the repository: ``python datasets/pending/make_cases.py``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]

HERE = Path(__file__).parent
GPU = "nvidia.com/gpu"
VOLCANO = ("volcano-1.13", "volcano-1.15")
EVERY = (*VOLCANO, "gang", "binpack")

#: A smaller job helps where a part of it would fit; which of the two it is depends on the release.
SMALLER = ["min-available", "replicas"]


class Zoo:
    """The cases written so far."""

    def __init__(self) -> None:
        self.cases: list[Json] = []

    def add(
        self,
        name: str,
        objects: Sequence[Json | Sequence[Json]],
        kinds: Sequence[str],
        words: Sequence[str],
        policies: Sequence[str] = EVERY,
        origin: str = "",
        config: str = "",
        job: str = "ml/job",
        never: bool = False,
    ) -> None:
        """Write one case per policy; they share one file.

        Parameters
        ----------
        kinds : sequence of str
            Acceptable kinds of the edits of the first fix; empty if only new nodes help, or nothing.
        words : sequence of str
            Texts that the headline holds.
        """
        flat = [one for each in objects for one in ([each] if isinstance(each, dict) else each)]
        file = f"cases/{name}.yaml"
        text = yaml.safe_dump_all(flat, sort_keys=False, default_flow_style=None, width=120)
        (HERE / file).write_text(text, encoding="utf-8")
        for policy in policies:
            case = {
                "id": f"{name}/{policy}",
                "file": file,
                "policy": policy,
                "config": config or None,
                "job": job,
                "kinds": sorted(kinds),
                "never": never,
                "words": list(words),
                "origin": origin or None,
            }
            self.cases.append(case)

    def write(self) -> None:
        """Write the index."""
        lines = ",\n".join("  " + json.dumps(case) for case in self.cases)
        (HERE / "cases.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


# ---- objects ----


def node(name: str, gpus: int = 8, cpu: str = "64", resource: str = GPU, ready: bool = True, **spec: Any) -> Json:
    """A node; one that is not ready has the taints that the control plane sets."""
    labels = {"kubernetes.io/hostname": name, **spec.pop("labels", {})}
    if not ready:
        key = "node.kubernetes.io/unreachable"
        spec["taints"] = [{"key": key, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    amounts = {"cpu": cpu, "memory": "256Gi", "pods": "110", **({resource: str(gpus)} if gpus else {})}
    conditions = [{"type": "Ready", "status": "True" if ready else "Unknown"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": amounts, "conditions": conditions},
    }


def nodes(number: int, gpus: int = 8, **more: Any) -> list[Json]:
    """Nodes n0, n1 ..."""
    return [node(f"n{i}", gpus, **more) for i in range(number)]


def hypernode(name: str, tier: int, members: Sequence[str], kind: str = "Node", tier_name: str = "") -> Json:
    """A HyperNode of nodes or of HyperNodes."""
    selectors = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
    spec = {"tier": tier, "members": selectors, **({"tierName": tier_name} if tier_name else {})}
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": spec,
    }


def tree(number: int, size: int, names: Sequence[str] = ("", "", "")) -> list[Json]:
    """Racks of `size` of the nodes n0 ..., in one row."""
    racks = range(-(-number // size))
    parts = [[f"n{i}" for i in range(r * size, min(number, (r + 1) * size))] for r in racks]
    found = [hypernode(f"rack-{r}", 1, part, tier_name=names[0]) for r, part in enumerate(parts)]
    return [*found, hypernode("row", 2, [f"rack-{r}" for r in racks], "HyperNode", names[1])]


def queue(name: str, weight: int = 1, **spec: Any) -> Json:
    """A queue; `capability` and `deserved` as in the API, `guarantee` without its inner key."""
    if "guarantee" in spec:
        spec["guarantee"] = {"resource": spec["guarantee"]}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": weight, **spec},
    }


def pod_spec(gpus: int = 8, cpu: str = "1", resource: str = GPU, **spec: Any) -> Json:
    """The spec of a pod with one container."""
    requests = {"cpu": cpu, "memory": "1Gi", **({resource: str(gpus)} if gpus else {})}
    container = {"name": "main", "image": "train", "resources": {"requests": requests, "limits": dict(requests)}}
    return {"schedulerName": "volcano", "restartPolicy": "OnFailure", "containers": [container], **spec}


def task(name: str, replicas: int, gpus: int = 8, depends: Sequence[str] = (), **spec: Any) -> Json:
    """A task of a Job."""
    found: Json = {"name": name, "replicas": replicas, "template": {"spec": pod_spec(gpus, **spec)}}
    if depends:
        found["dependsOn"] = {"name": list(depends)}
    return found


def job(
    name: str, *tasks: Json, minimum: int | None = None, tier: Any = None, where: str = "default", **spec: Any
) -> Json:
    """A Volcano Job; all pods are needed unless `minimum` says otherwise; hard up to a tier if one is given."""
    if tier is not None:
        limit = {"highestTierName": tier} if isinstance(tier, str) else {"highestTierAllowed": tier}
        spec["networkTopology"] = {"mode": "hard", **limit}
    total = sum(each["replicas"] for each in tasks)
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}"},
        "spec": {
            "schedulerName": "volcano",
            "queue": where,
            "minAvailable": total if minimum is None else minimum,
            **spec,
            "tasks": list(tasks),
        },
    }


def workers(number: int, gpus: int = 8, **more: Any) -> Json:
    """The waiting job of most cases: workers of one size."""
    spec = {key: more.pop(key) for key in ("nodeSelector", "tolerations", "affinity", "cpu", "resource") if key in more}
    return job("job", task("worker", number, gpus, **spec), **more)


def bound(name: str, where: str, gpus: int = 8, owner: str = "", ending: bool = False, **spec: Any) -> Json:
    """A running pod, of a Job if an owner is named."""
    meta: Json = {"name": name, "namespace": "ml"}
    if owner:
        meta["labels"] = {"volcano.sh/job-name": owner, "volcano.sh/job-namespace": "ml"}
        meta["annotations"] = {"volcano.sh/task-spec": "worker", "volcano.sh/job-name": owner}
        kind = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": owner, "uid": f"uid-{owner}"}
        meta["ownerReferences"] = [{**kind, "controller": True}]
    if ending:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = {"phase": "Running"}
    found = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod_spec(gpus, **spec) | {"nodeName": where}}
    return {**found, "status": status}


def running(name: str, where: Sequence[str], gpus: int = 8, queue_name: str = "default", **more: Any) -> list[Json]:
    """A running job with one pod on each of the named nodes."""
    spec = {key: more[key] for key in ("cpu", "resource") if key in more}
    whole = job(name, task("worker", len(where), gpus, **spec), where=queue_name)
    return [whole, *(bound(f"{name}-worker-{i}", at, gpus, name, **more) for i, at in enumerate(where))]


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Json:
    """A taint."""
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


def required(key: str, *values: str) -> Json:
    """Required node affinity: a label with one of some values."""
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def high() -> Json:
    """The PriorityClass high."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }


# ---- the cases ----


def simple(zoo: Zoo) -> None:
    """One obstacle each, under every policy that knows it."""
    zoo.add("rack-too-small", [nodes(4), tree(4, 2), workers(3, tier=1)], ["tier", *SMALLER], ["tier"], VOLCANO)
    zoo.add(
        "rack-half-busy",
        [nodes(4), tree(4, 2), running("old", ["n0", "n2"]), workers(2, tier=1)],
        ["tier", *SMALLER],
        ["tier"],
        VOLCANO,
    )
    roles = job("job", task("master", 1), task("worker", 3), tier=1)
    zoo.add("roles-count-together", [nodes(6), tree(6, 2), roles], ["tier", *SMALLER], ["tier"], VOLCANO)
    named = [nodes(4), tree(4, 2, ("rack", "row", "")), workers(3, tier="rack")]
    zoo.add("tier-by-name", named, ["tier", *SMALLER], ["tier"], ["volcano-1.15"])
    zoo.add("one-node-too-few", [nodes(3), workers(4)], SMALLER, ["4"])
    zoo.add("cluster-full", [nodes(1), running("old", ["n0"]), workers(1)], ["finish"], ["old"])
    zoo.add(
        "one-of-two-victims", [nodes(2), running("old", ["n0"]), running("new", ["n1"]), workers(1)], ["finish"], []
    )
    zoo.add("a-pod-of-nobody", [nodes(1), bound("debug", "n0"), workers(1)], ["finish"], ["debug"])
    zoo.add("cordoned", [nodes(1, unschedulable=True), workers(1)], ["uncordon"], ["cordon"])
    zoo.add("not-ready", [nodes(1, ready=False), workers(1)], ["ready", "toleration"], ["ready"])
    zoo.add("tainted", [nodes(2, taints=[taint("team", "vision")]), workers(1)], ["toleration"], ["team"])
    zoo.add(
        "two-taints",
        [nodes(1, taints=[taint("team", "vision"), taint("phase", "burn-in")]), workers(1)],
        ["toleration"],
        ["team"],
    )
    zoo.add(
        "no-such-label",
        [nodes(2, labels={"model": "h100"}), workers(1, nodeSelector={"model": "h200"})],
        ["selector"],
        ["model"],
    )
    zoo.add(
        "no-such-zone",
        [nodes(2, labels={"zone": "a"}), workers(1, affinity=required("zone", "b"))],
        ["affinity"],
        ["affinity"],
    )
    zoo.add(
        "waits-for-the-dying", [nodes(1), running("old", ["n0"], ending=True), workers(1)], ["wait"], ["terminating"]
    )
    rival = job("a-rival", task("worker", 1))
    zoo.add("behind-a-rival", [nodes(1), rival, workers(1)], ["priority", "withdraw"], ["a-rival"])
    first = job("z-first", task("worker", 1), priorityClassName="high")
    zoo.add("behind-a-priority", [nodes(1), high(), first, workers(1)], ["priority", "withdraw"], ["z-first"])
    zoo.add("larger-than-any-node", [nodes(3), workers(1, 16)], [], ["16"], never=True)
    zoo.add("another-resource", [nodes(3), workers(1, 1, resource="amd.com/gpu")], [], ["amd.com/gpu"], never=True)
    pair = [nodes(1, unschedulable=True, taints=[taint("team", "vision")]), workers(1)]
    zoo.add("cordoned-and-tainted", pair, ["toleration", "untaint", "uncordon"], ["team"])
    both = [
        nodes(2, labels={"model": "a100"}),
        running("old", ["n0", "n1"]),
        workers(1, nodeSelector={"model": "h100"}),
    ]
    zoo.add("label-and-no-room", both, ["selector", "finish"], ["model"])
    cap = {GPU: "8"}
    small = [
        nodes(2),
        queue("team", capability=cap),
        running("old", ["n0"], queue_name="team"),
        workers(1, where="team"),
    ]
    for config in ("proportion", "capacity"):
        file = f"{config}.conf"
        zoo.add(f"{config}-capability", small, ["queue-capability"], ["team"], VOLCANO, config=file)
        zoo.add(
            f"{config}-capability-too-small",
            [nodes(2), queue("team", capability={GPU: "4"}), workers(1, where="team")],
            ["queue-capability"],
            ["team"],
            VOLCANO,
            config=file,
        )
    reserved = [
        nodes(2),
        queue("team"),
        queue("other", deserved={GPU: "16"}, guarantee={GPU: "16"}),
        workers(1, where="team"),
    ]
    zoo.add("guaranteed-to-another", reserved, ["queue-guarantee"], ["other"], VOLCANO, config="capacity.conf")
    two = [nodes(4), tree(4, 2), queue("team", capability={GPU: "16"}), workers(3, tier=1, where="team")]
    zoo.add("queue-and-tier", two, ["queue-capability", "tier", *SMALLER], ["team"], VOLCANO, config="capacity.conf")


def after_threads(zoo: Zoo) -> None:
    """Built after questions in public threads, smaller than there, with GPUs where a thread has other resources."""
    team = queue("team", capability={GPU: "4", "cpu": "5"})
    zoo.add(
        "gpu-quota-of-a-queue",
        [nodes(2), team, workers(2, 3, cpu="2", where="team")],
        ["queue-capability", *SMALLER],
        ["team"],
        ["volcano-1.15"],
        "volcano-sh/volcano#3426",
        "proportion.conf",
    )
    zoo.add(
        "default-queue-has-no-quota",
        [nodes(2), queue("default"), queue("deng", deserved={GPU: "16"}, guarantee={GPU: "16"}), workers(1)],
        ["queue-guarantee"],
        ["guarantee"],
        ["volcano-1.13"],
        "volcano-sh/volcano#4479",
        "capacity.conf",
    )
    cpu_queue = queue("team", capability={"cpu": "10"})
    nine = running("old", ["n0"], 0, "team", cpu="9")
    zoo.add(
        "queue-nearly-full",
        [nodes(2), cpu_queue, nine, workers(1, 0, cpu="10", where="team")],
        ["queue-capability"],
        ["team"],
        ["volcano-1.15"],
        "volcano-sh/volcano#1860",
        "proportion.conf",
    )
    third = [running(f"job-{i}", ["n0"], 0, "queue1", cpu="1") for i in (1, 2)]
    zoo.add(
        "third-job-of-a-small-queue",
        [nodes(1), queue("queue1", capability={"cpu": "2"}), *third, workers(1, 0, cpu="1", where="queue1")],
        ["queue-capability"],
        ["queue1"],
        ["volcano-1.13"],
        "volcano-sh/volcano#834",
        "capacity.conf",
    )
    zoo.add(
        "queue-about-to-be-full",
        [
            nodes(2),
            queue("team", capability={GPU: "10"}),
            running("old", ["n0"], 8, "team"),
            workers(1, 4, where="team"),
        ],
        ["queue-capability"],
        ["team"],
        ["volcano-1.13"],
        "volcano-sh/volcano#3198",
        "proportion.conf",
    )
    old_cards = queue("test", weight=5, capability={"cpu": "8", "nvidia.com/gtx-1080-ti": "1"})
    cards = [node(f"n{i}", 4, resource="nvidia.com/gtx-1080-ti") for i in range(2)]
    two_cards = job("job", task("task", 2, 1, resource="nvidia.com/gtx-1080-ti", cpu="2"), where="test")
    zoo.add(
        "queue-counts-an-old-card",
        [cards, old_cards, two_cards],
        ["queue-capability", *SMALLER],
        ["test"],
        ["volcano-1.15"],
        "volcano-sh/volcano#1330",
        "capacity.conf",
    )
    zoo.add(
        "elastic-quota-of-forty-cores",
        [nodes(3), queue("team", capability={"cpu": "40"}), workers(1, 0, cpu="48", where="team")],
        ["queue-capability"],
        ["team"],
        ["volcano-1.15"],
        "koordinator-sh/koordinator#1079",
        "capacity.conf",
    )
    zoo.add(
        "one-core-of-three",
        [nodes(1), queue("quota1", capability={"cpu": "1"}), workers(3, 0, cpu="1", where="quota1")],
        ["queue-capability", *SMALLER],
        ["quota1"],
        ["volcano-1.13"],
        "koordinator-sh/koordinator#2104",
        "capacity.conf",
    )
    ray = job("job", task("head", 1, 0), task("worker", 4, 1), where="ray")
    zoo.add(
        "ray-cluster-larger-than-its-queue",
        [nodes(2), queue("ray", capability={GPU: "3"}), ray],
        ["queue-capability", *SMALLER],
        ["ray"],
        ["volcano-1.15"],
        "kai-scheduler/KAI-Scheduler#500",
        "proportion.conf",
    )
    zoo.add(
        "73-cores-on-72",
        [[node("n0", 0, cpu="72")], workers(1, 0, cpu="73")],
        [],
        ["cpu"],
        ["volcano-1.13", "gang"],
        "volcano-sh/volcano#1295",
        never=True,
    )
    gold = [node("n0", 0, cpu="8", labels={"pool": "spark"}), node("n1", 0, cpu="8")]
    drivers = [running(f"driver-{i}", ["n0"], 0, cpu="4") for i in (1, 2)]
    executor = workers(1, 0, cpu="4", nodeSelector={"pool": "spark"})
    zoo.add(
        "drivers-fill-the-pool",
        [gold, *drivers, executor],
        ["selector"],
        ["pool"],
        ["volcano-1.13", "gang"],
        "volcano-sh/volcano#2838",
    )
    zoo.add(
        "one-core-node-still-held",
        [[node("n0", 0, cpu="1")], bound("pod-a", "n0", 0, ending=True), workers(1, 0)],
        ["wait"],
        ["terminating"],
        ["volcano-1.15"],
        "volcano-sh/volcano#3681",
    )
    zoo.add(
        "zombie-on-one-node",
        [nodes(2), running("old", ["n0"]), bound("zombie", "n1", ending=True), workers(1)],
        ["wait"],
        ["terminating"],
        ["gang"],
        "volcano-sh/volcano#2943",
    )
    mixed = [node("n0", labels={"card": "t4"}), node("n1", labels={"card": "v100"})]
    zoo.add(
        "cards-of-different-power",
        [mixed, running("old", ["n1"]), workers(1, nodeSelector={"card": "v100"})],
        ["selector"],
        ["card"],
        ["volcano-1.15"],
        "volcano-sh/volcano#1393",
    )
    zoo.add(
        "node-was-not-ready",
        [nodes(1, ready=False), workers(1, 0)],
        ["ready", "toleration"],
        ["ready"],
        ["volcano-1.13"],
        "volcano-sh/volcano#1492",
    )
    alone = [*nodes(3, 0, cpu="2"), *tree(3, 1, ("volcano.sh/hypernode", "row", ""))]
    parts = task("t0", 2, 0, cpu="2") | {
        "partitionPolicy": {
            "totalPartitions": 1,
            "partitionSize": 2,
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        }
    }
    zoo.add(
        "partition-of-two-in-one-node",
        [alone, job("job", parts)],
        ["tier", *SMALLER],
        ["tier"],
        ["volcano-1.15"],
        "volcano-sh/volcano#5189",
    )
    low = running("low", ["n0", "n1"])
    zoo.add(
        "large-job-behind-a-small-one",
        [nodes(2), low, workers(2)],
        [*SMALLER, "finish"],
        [],
        ["gang"],
        "volcano-sh/volcano#748",
    )
    torch = job("job", task("master", 1, 1), task("worker", 1, 1))
    zoo.add(
        "two-gpus-one-taken",
        [nodes(1, 2), bound("mnist", "n0", 1), torch],
        [*SMALLER, "finish"],
        [],
        ["volcano-1.15", "gang"],
        "volcano-sh/volcano#1959",
    )
    held = [running(f"held-{i}", [f"n{i}"], 6) for i in range(4)]
    zoo.add(
        "eight-gpus-in-four-pieces",
        [nodes(4), *held, workers(1)],
        ["finish"],
        [],
        ["volcano-1.13", "binpack"],
        "kubernetes-sigs/kueue#5243",
    )
    halves = [bound(f"half-{i}", f"n{i}", 4) for i in range(2)]
    zoo.add(
        "twice-four-is-not-eight",
        [nodes(2), *halves, workers(1)],
        ["finish"],
        ["half-"],
        ["volcano-1.15", "gang"],
        "kubernetes-sigs/kueue#4329",
    )
    block = "oci.oraclecloud.com/rdma.local_block_id"
    zoo.add(
        "no-domain-of-the-label",
        [nodes(2), workers(2, affinity=required(block, "b1"))],
        ["affinity"],
        ["affinity"],
        ["volcano-1.13"],
        "kubernetes-sigs/kueue#5039",
    )
    zoo.add(
        "untolerated-taint-gpu",
        [nodes(1, taints=[taint("gpu")]), workers(1, 1)],
        ["toleration"],
        ["gpu"],
        ["volcano-1.15", "gang"],
        "NVIDIA/k8s-device-plugin#421",
    )
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "job", "namespace": "ml"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "job"}},
            "template": {"metadata": {"labels": {"app": "job"}}, "spec": pod_spec(0) | {"restartPolicy": "Always"}},
        },
    }
    zoo.add(
        "deployment-on-an-unreachable-node",
        [nodes(1, 0, ready=False), deployment],
        ["ready", "toleration"],
        ["ready"],
        ["volcano-1.13"],
        "hystax/optscale#568",
    )
    master = [node("n0", 0, taints=[taint("node-role.kubernetes.io/master")])]
    zoo.add(
        "notebook-beside-the-control-plane",
        [master, workers(1, 0)],
        ["toleration"],
        ["master"],
        ["volcano-1.15"],
        "kubernetes/kubernetes#41070",
    )
    zoo.add(
        "two-nodes-without-free-gpus",
        [nodes(2, 1), bound("a", "n0", 1), bound("b", "n1", 1), workers(1, 1)],
        ["finish"],
        [],
        ["gang"],
        "kai-scheduler/KAI-Scheduler#39",
    )
    zoo.add(
        "node-pool-label",
        [nodes(2, 3), workers(1, 0, nodeSelector={"kai.scheduler/node-pool": "worker-nodes"})],
        ["selector"],
        ["kai.scheduler/node-pool"],
        ["volcano-1.15"],
        "kai-scheduler/KAI-Scheduler#1045",
    )
    zoo.add(
        "more-gpus-than-are-left",
        [nodes(2), running("old", ["n0"]), workers(2)],
        [*SMALLER, "finish"],
        [],
        ["volcano-1.13"],
        "kubeflow/kubeflow#5442",
    )
    zoo.add(
        "single-gpus-scattered",
        [nodes(2, 4), *(bound(f"one-{i}", f"n{i}", 1) for i in range(2)), workers(1, 4)],
        ["finish"],
        ["one-"],
        ["binpack"],
        "cBio/cbio-cluster#20",
    )
    zoo.add(
        "drained-or-reserved",
        [[node("n0", 2, unschedulable=True), node("n1", 2)], running("old", ["n1"], 2), workers(1, 2)],
        ["uncordon"],
        ["cordon"],
        ["gang"],
        "montefiore-institute/alan-cluster#24",
    )
    pieces = [running(f"small-{i}", [f"n{i}"], 1, cpu="10") for i in range(2)]
    zoo.add(
        "ten-cores-on-each-of-two",
        [[node(f"n{i}", 2, cpu="24") for i in range(2)], *pieces, workers(1, 1, cpu="20")],
        ["finish"],
        ["small-"],
        ["volcano-1.13"],
        "microsoft/pai#2013",
    )
    zoo.add(
        "five-shares-of-four",
        [nodes(1, 4), *(bound(f"p{i}", "n0", 1) for i in range(4)), workers(1, 1)],
        ["finish"],
        [],
        ["volcano-1.15"],
        "AliyunContainerService/gpushare-scheduler-extender#188",
    )
    zoo.add(
        "ten-tasks-a-queue-for-five",
        [nodes(1), queue("queuea", capability={"cpu": "10"}), job("job", task("t", 10, 0, cpu="2"), where="queuea")],
        ["queue-capability", *SMALLER],
        ["queuea"],
        ["volcano-1.15"],
        "volcano-sh/volcano#4492",
        "capacity.conf",
    )


if __name__ == "__main__":
    zoo = Zoo()
    simple(zoo)
    after_threads(zoo)
    zoo.write()
