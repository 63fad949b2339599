"""Notices that explain why a gang is refused; programs read their codes, people their texts.

If Volcano or the Kubernetes scheduler has a text for a reason, that text is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Longs
from workbench.model.counted import counted
from workbench.model.dependencies import unmet_dependency
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.resources import amount_text
from workbench.model.topology import Topology
from workbench.policies.demand import node_causes
from workbench.policies.progress import Progress, invalid_gang, invalid_sub_groups
from workbench.policies.request import Request

__all__ = [
    "Words",
    "cannot_start",
    "fit_reason",
    "fractional_gpus",
    "gang_incomplete",
    "gang_text",
    "gang_untried",
    "gpus_unserved",
    "holds_text",
    "not_offered",
    "told_once",
    "topology_not_ready",
]


#: Whose sentences a refusal uses (`SchedulerTraits.words`).
Words = Literal["volcano", "kubernetes", "kueue"]


def fit_reason(
    request: Request, role: int, idle: Longs, nodes: npt.NDArray[np.int32] | None = None, *, words: Words = "volcano"
) -> Notice:
    """Notice that says why one more pod of a role fits on no node: ``0/8 nodes are unavailable: 8 Insufficient cpu.``

    kube-scheduler writes ``available`` there; Kueue does not look at single nodes, so the sentence is ours.

    `role`: index of the role in the gang. `idle`: ndarray of shape (n, r), int64; idle resources of all nodes of the
    snapshot. `nodes`: ndarray of shape (m,), int32; the nodes to explain; None: all. `words`: {"volcano", "kubernetes",
    "kueue"}.
    """
    among = np.arange(request.snapshot.n_nodes, dtype=np.int32) if nodes is None else nodes
    parts = node_causes(request.demand, role, idle, among)
    # The Kubernetes scheduler sorts its reasons as texts.
    causes = ", ".join(sorted(f"{part.n_nodes} {part.text}" for part in parts))
    if not request.snapshot.n_nodes:
        causes = "the cluster has no nodes"
    code = max(parts, key=lambda part: part.n_nodes).code if parts else "insufficient"
    count = sum(part.n_nodes for part in parts)
    if words == "kueue":
        text = f"no node takes one more pod of {request.gang.roles[role].name}{': ' if causes else ''}{causes}"
    else:
        state = "unavailable" if words == "volcano" else "available"
        text = f"0/{len(among)} nodes are {state}{': ' if causes else ''}{causes}."
    return Notice(code, text, numbers={"count": count, "nodes": len(among)})


def gang_text(
    request: Request,
    missing: int,
    role: int,
    idle: Longs,
    nodes: npt.NDArray[np.int32] | None = None,
    hypernode: str = "",
) -> Notice:
    """Notice with Volcano's condition of a pending PodGroup: ``3/3 tasks in gang unschedulable: <fit error>``.

    `idle`, `nodes`: as in `fit_reason`.

    `missing`: pods that the gang lacks. `role`: index of the role whose fit error is quoted. `hypernode`: the HyperNode
    that Volcano 1.15 names in the text; empty for the virtual top.
    """
    total = request.progress().total
    fit = fit_reason(request, role, idle, nodes)
    where = f"In hyperNode {hypernode}: " if hypernode else ""
    text = f"{missing}/{total} tasks in gang unschedulable: {where}{fit.message}"
    return Notice("gang-unschedulable", text, numbers={"count": missing}, quotes=(fit,))


def gang_untried(request: Request, missing: int) -> Notice:
    """Notice with Volcano's condition of a pending PodGroup of which no pod was tried on a node (no fit error).

    ``missing`` is the number of pods that the gang lacks.
    """
    gang, total = request.gang, request.progress().total
    counts = ", ".join(sorted((f"{gang.n_pods} Pending", f"{gang.min_available} minAvailable")))
    text = f"{missing}/{total} tasks in gang unschedulable: pod group is not ready, {counts}"
    return Notice("gang-unschedulable", text, numbers={"count": missing})


def gang_incomplete(placed: int, missing: int) -> Notice:
    """Notice that only ``placed`` pods find a node and ``missing`` more are needed for the gang to start."""
    text = "the 1 pod needed finds no node" if missing == 1 else f"{placed} of the {missing} pods needed find a node"
    return Notice("gang-incomplete", text, numbers={"count": missing})


def holds_text(held: int, needs: int, unit: str = "pod") -> str:
    """What a HyperNode holds of a gang: ``holds 2 of 3 pods``, and where it is more than needed, how many are.

    `held`, `needs`: pods that it holds and pods that the gang needs. `unit`: what is counted.
    """
    if held > needs:
        return f"holds {counted(held, unit)}, {needs} needed"
    return f"holds {held} of {counted(needs, unit)}"


def gpus_unserved(request: Request, policy: str, node: int) -> Notice:
    """Notice about a node where each pod of the gang would find GPUs, but not all its pods together.

    `policy`: name of the GPU policy. `node`: index of the node.
    """
    name = request.snapshot.topology.node_names[node]
    return Notice("gpu", f"{policy} finds no GPUs on {name} that serve the gang's pods there together", f"node {name}")


def cannot_start(gang: Gang, progress: Progress, *, sub_groups: bool, words: Words = "volcano") -> tuple[Notice, ...]:
    """Notices that a gang has fewer pods than it needs, so that it can never start; empty if it has enough.

    `gang`: not the gang of a HyperJob that is decided Job by Job. `progress`: counts before anything is placed.
    `sub_groups`: whether the policy knows sub-groups, and so counts those that must be ready. `words`: {"volcano",
    "kubernetes", "kueue"}.
    """
    text = invalid_gang(progress) or (invalid_sub_groups(gang) if sub_groups else "")
    if text and words != "volcano":
        text = _too_few(gang, progress)
    if text:
        text += _jobs_without_pods(gang)
        return (Notice("not-enough-pods", text, numbers={"count": progress.missing}),)
    if gang.jobs or not any(role.depends_on for role in gang.roles):
        return ()
    present = [here + left for here, left in zip(progress.present, progress.left, strict=True)]
    why = unmet_dependency(gang, present, sub_groups=sub_groups)
    return () if why is None else (why,)


def _too_few(gang: Gang, progress: Progress) -> str:
    """What a gang has too few of, in plain words, for schedulers without a sentence for it."""
    valid = progress.counted + sum(progress.left)
    if valid < progress.min_available:
        return f"the gang has {counted(valid, 'pod')}, and {progress.min_available} must start together"
    for role, present, left, minimum in zip(
        gang.roles, progress.present, progress.left, progress.minimums, strict=True
    ):
        if progress.min_available >= sum(progress.minimums) and present + left < minimum:
            return f"{role.name} has {counted(present + left, 'pod')}, and {minimum} of it must start together"
    for policy, least in sorted(gang.min_subgroups.items()):
        groups = sum(group.policy == policy for group in gang.sub_groups)
        if groups < least:
            return f"{policy or 'the gang'} has {counted(groups, 'sub-group')}, and {least} must start"
    raise AssertionError("called for a gang that lacks pods")


def _jobs_without_pods(gang: Gang) -> str:
    """The Jobs of a HyperJob that have fewer pods than their minimum: ``; h-b-0 has 1 of the 2 pods it needs``."""
    jobs = [job.gang for job in gang.jobs if job.gang is not None]
    short = [job for job in jobs if job.ready + job.n_pods < job.min_available]
    parts = [f"{job.name} has {job.ready + job.n_pods} of the {job.min_available} pods it needs" for job in short]
    more = [f"{len(parts) - 3} further Jobs lack pods"] if len(parts) > 3 else []
    return "".join(f"; {part}" for part in (*parts[:3], *more))


def told_once(reasons: Sequence[Notice]) -> tuple[Notice, ...]:
    """Leave out each reason whose sentence another one says: an equal one before it, or a longer one that quotes it.

    Volcano's sentence about a gang quotes the one of Kubernetes about the nodes.
    """
    distinct: dict[str, Notice] = {}
    for reason in reasons:
        distinct.setdefault(reason.message, reason)
    quoted = {notice for reason in reasons for notice in reason.quotes}
    return tuple(reason for reason in distinct.values() if reason not in quoted)


def fractional_gpus(policy: str, gang: Gang) -> Notice:
    """Notice that a gang asks for parts of GPUs, but the policy gives whole GPUs only."""
    pods = sum(role.count for role in gang.roles if role.gpu_milli)
    text = f"{counted(pods, 'pod asks', 'pods ask')} for thousandths of a GPU: {policy} gives whole GPUs only"
    return Notice("fractional-gpus", text, numbers={"count": pods})


def topology_not_ready(topology: Topology) -> Notice:
    """Notice that the HyperNodes are missing or form no tree, so that no job may rely on them.

    Source: docs/decisions.md, decision 14.
    """
    count = len(topology.problems)
    why = f"{topology.problems[0].message} ({counted(count, 'problem')} in all)" if count else "there are no HyperNodes"
    return Notice("topology-not-ready", f"the network topology is not ready: {why}", numbers={"count": count})


def not_offered(request: Request) -> tuple[Notice, ...]:
    """Notices about requests that no node can meet even if idle, although the gang cannot start without them.

    Their texts are such as ``no node offers nvidia.com/gpu (pods request 8)`` and ``no node offers 16 nvidia.com/gpu
    (the largest has 8)``. These reasons come before all others, because neither queues nor HyperNodes matter as long as
    they hold. Selectors and taints are ignored. Empty if there is no such request.
    """
    snapshot, demand = request.snapshot, request.demand
    largest = snapshot.largest_allocatable
    beyond = demand.rows > largest
    lacking = [role for role in demand.order if demand.missing[role] or beyond[role].any()]
    if not lacking:
        return ()
    progress = request.progress()
    for role in demand.order:
        if role not in lacking:
            progress.place(role, progress.left[role])
    if progress.ready:
        return ()
    texts: dict[str, None] = {}
    for role in lacking:
        requests = request.gang.roles[role].requests
        for name in demand.missing[role]:
            texts[f"{name} (pods request {amount_text(name, requests[name])})"] = None
        for column in beyond[role].nonzero()[0].tolist():
            name, most = snapshot.resources[column], int(largest[column])
            wants = amount_text(name, int(demand.rows[role, column]))
            if most:
                texts[f"{wants} {name} (the largest has {amount_text(name, most)})"] = None
            else:
                texts[f"{name} (pods request {wants})"] = None
    count = sum(request.gang.roles[role].count for role in lacking)
    return (Notice("not-offered", f"no node offers {', '.join(texts)}", numbers={"count": count}),)
