"""Benchmark of `kube-default`, kube-scheduler's default profile: a gang on a small cluster, and on a large one.

Small cluster: beside the same filters and scores in plain Python, node by node, which must put every pod on the same
node. Large cluster: 5,000 busy nodes; equal pods without rules about other pods, and pods that keep apart or spread.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from measure import microseconds, row

from tests.fabrics import snapshot
from tests.reference.kube_one_pod import Oracle
from workbench.model.gang import Gang, Role
from workbench.model.labels import Requirement
from workbench.model.placement import Placement
from workbench.model.pod_rules import NO_RULES, PodAffinityTerm, PodRules, PodSelector, SpreadConstraint
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.registry import get_policy

HOST = "kubernetes.io/hostname"
SMALL_NODES, SMALL_PODS = 60, 32
LARGE_NODES, LARGE_PODS, PODS_WITH_RULES = 5_000, 512, 64
REQUESTS = {"cpu": 4000, "memory": 16 << 30, "nvidia.com/gpu": 1}
GOAL_US = 5_000

SELECTOR = PodSelector((Requirement("app", "In", ("train",)),))
RULES = {
    "anti-affinity on hosts": PodRules(anti_affinity=(PodAffinityTerm(HOST, SELECTOR),)),
    "spread over racks": PodRules(spread=(SpreadConstraint("rack", 1, labels=SELECTOR.labels),)),
}


def cluster(nodes: int) -> ClusterSnapshot:
    """A cluster of `nodes` nodes with 8 GPUs, 100 to a rack, each half full at random."""
    generator = random.Random(1)
    names = [f"n{i:04}" for i in range(nodes)]
    held = {name: generator.randrange(5) for name in names}
    used = {
        name: (generator.randrange(32_000), generator.randrange(128) << 30, gpus, gpus) for name, gpus in held.items()
    }
    labels = {name: {HOST: name, "rack": f"r{i // 100}"} for i, name in enumerate(names)}
    free = {name: 255 & ~((1 << gpus) - 1) for name, gpus in held.items()}
    return snapshot(names, used=used, labels=labels, free_gpus=free)


def gang(pods: int, rules: PodRules = NO_RULES) -> Gang:
    """A gang of `pods` equal pods, all of which are needed."""
    return Gang("d", "j", (Role("w", pods, REQUESTS, (1,), labels={"app": "train"}, rules=rules),), pods)


def answer(wanted: Gang, where: ClusterSnapshot, policy: str = "kube-default") -> list[str]:
    """Names of the nodes of a gang's pods by a policy on a new ledger of the snapshot `where`."""
    result = get_policy(policy).place(wanted, where.ledger())
    if not isinstance(result, Placement):
        raise RuntimeError(f"benchmark: {result!r}")
    return [result.topology.node_names[node] for node in result.node.tolist()]


def for_the_oracle(where: ClusterSnapshot) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes of a snapshot, and what is used on each as one pod that runs there."""
    nodes: list[dict[str, Any]] = []
    running: list[dict[str, Any]] = []
    for i, name in enumerate(where.topology.node_names):
        amounts = dict(zip(where.resources, where.allocatable[i].tolist(), strict=True))
        requests = dict(zip(where.resources, where.used[i].tolist(), strict=True))
        del requests["pods"]
        nodes.append({"name": name, "labels": where.labels.row(i), "taints": [], "allocatable": amounts})
        running.append({"namespace": "d", "labels": {}, "requests": requests, "node": name})
    return nodes, running


def take(oracle: Oracle, pods: int, nodes: list[dict[str, Any]]) -> list[str]:
    """Place equal pods one by one on some nodes, and return the names of their nodes."""
    pod = {"namespace": "d", "labels": {"app": "train"}, "requests": REQUESTS}
    found: list[str] = []
    for _ in range(pods):
        feasible = [node for node in nodes if not oracle.fits(pod, node)]
        totals = oracle.totals(pod, feasible)
        best = max(totals)
        found.append(min(node["name"] for node, total in zip(feasible, totals, strict=True) if total == best))
        oracle.pods.append(pod | {"node": found[-1]})
    return found


def plain_python(pods: int, where: ClusterSnapshot) -> list[str]:
    """Nodes of a gang by plain Python, which places pod after pod on the whole cluster."""
    nodes, running = for_the_oracle(where)
    return take(Oracle(nodes, running), pods, nodes)


def rows() -> Iterator[dict[str, object]]:
    """Rows of the result table: the small cluster beside plain Python, the large one with and without rules."""
    small, wanted = cluster(SMALL_NODES), gang(SMALL_PODS)
    fault = "" if answer(wanted, small) == plain_python(SMALL_PODS, small) else "plain Python finds other nodes"
    plain = microseconds(lambda: plain_python(SMALL_PODS, small), 3)
    ours = microseconds(lambda: answer(wanted, small), 50)
    size = f"{SMALL_PODS} pods on {SMALL_NODES} busy nodes"
    yield row("kube-default", size, ours, "plain Python", float(plain.min()), None, "same nodes", fault=fault)
    large = cluster(LARGE_NODES)
    ours = microseconds(lambda: answer(gang(LARGE_PODS), large), 100)
    size = f"{LARGE_PODS} pods of 1 GPU on {LARGE_NODES:,} busy nodes"
    note = "the real kube-scheduler: 2.7 s of CPU"
    yield row("kube-default", size, ours, "", None, GOAL_US, note)
    for name, rules in RULES.items():
        ours = microseconds(lambda rules=rules: answer(gang(PODS_WITH_RULES, rules), large), 20)
        size = f"{PODS_WITH_RULES} pods, {name}, on {LARGE_NODES:,} busy nodes"
        yield row("kube-default", size, ours, "", None, None, "pod after pod")
