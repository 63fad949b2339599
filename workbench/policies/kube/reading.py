"""How a gang reads as a request to kube-scheduler, and notices about what kube-scheduler cannot express."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workbench.model.cluster_facts import ClusterFacts
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.pod_counts import NAMESPACE_NAME, Namespaces
from workbench.model.pod_rules import PodRules
from workbench.model.running_pod import RunningPod
from workbench.policies.kube.choose import nodes_to_find
from workbench.policies.kube.settings import KubeSettings

__all__ = [
    "leaving_pods",
    "limited_search",
    "minimum",
    "not_expressed",
    "pod_runs",
    "positions_in_order",
    "priorities_differ",
]


def minimum(gang: Gang) -> int:
    """Number of pods, running ones included, that must have a node: minCount of the gang's PodGroup.

    At least 1, but for a gang without pods.
    """
    return max(gang.min_available, 1 if gang.n_pods else 0)


def leaving_pods(gang: Gang, snapshot: ClusterFacts) -> list[RunningPod]:
    """Terminating members of the PodGroup of a gang, which `Gang.ready` leaves out and kube-scheduler counts."""
    return list(snapshot.running_index.leaving.get(gang.key, ()))


def positions_in_order(gang: Gang) -> list[int]:
    """Positions of the pods of a gang in the order of their arrival, which is that of the gang if it says none."""
    if not gang.order:
        return list(range(gang.n_pods))
    place = {name: position for position, name in enumerate(gang.pod_names(np.arange(gang.n_pods)))}
    return [place[name] for name in gang.order]


def pod_runs(gang: Gang) -> list[tuple[int, list[int]]]:
    """Pods in the order in which they are tried, cut into runs of one role: role, and positions in the gang.

    Higher pod priority comes first, then earlier arrival.
    """
    if not gang.order:
        order = sorted(range(len(gang.roles)), key=lambda i: -gang.roles[i].priority)
        return [(i, list(range(gang.role_start[i], gang.role_start[i + 1]))) for i in order if gang.roles[i].count]
    role_of = gang.role_of_pod.tolist()
    runs: list[tuple[int, list[int]]] = []
    for position in sorted(positions_in_order(gang), key=lambda i: -gang.roles[role_of[i]].priority):
        role = role_of[position]
        if runs and runs[-1][0] == role:
            runs[-1][1].append(position)
        else:
            runs.append((role, [position]))
    return runs


def priorities_differ(gang: Gang) -> Notice | None:
    """The error of a PodGroup whose pods differ in priority; None if they agree, or need no PodGroup."""
    values = sorted({role.priority for role in gang.roles if role.count})
    if minimum(gang) < 2 or len(values) < 2:
        return None
    text = f"pods of the gang have the priorities {', '.join(map(str, values))}: kube-scheduler ends a PodGroup whose "
    return Notice("pod-priorities-differ", f"{text}pods differ in priority with SchedulerError")


def not_expressed(gang: Gang, snapshot: ClusterFacts, policy: str, *, topology: bool = False) -> Iterator[Notice]:
    """Notices about requests of a gang that have no effect on kube-scheduler, or not the whole of it.

    `snapshot`: the cluster. `policy`: name of the policy. `topology`: whether the policy reads the gang's topology
    constraint itself.
    """
    if not topology and gang.constraint is not None:
        mode = gang.constraint.mode or "hard"
        yield _lost(f"{policy} knows no topology: the {mode} constraint of the gang has no effect")
    roles = [role.name for role in gang.roles if role.min_available and role.min_available < role.count]
    if roles:
        yield _lost(f"a PodGroup has no minimum per role: that of {', '.join(roles)} has no effect")
    if gang.queue not in ("", "default"):
        yield _lost(f"kube-scheduler has no queues: the limits and the weight of {gang.queue} have no effect")
    if any(_selects_namespaces(role.rules) for role in gang.roles):
        known = snapshot.extra(Namespaces).labels
        unknown = sorted({gang.namespace, *(pod.namespace for pod in snapshot.running)} - known.keys())
        if unknown:
            yield Notice(
                "namespace-labels-not-read",
                "a pod's affinity selects namespaces by labels: of namespaces that are not in the input, such as "
                f"{unknown[0]}, only the label with the name is known",
            )


def limited_search(n_nodes: int, settings: KubeSettings) -> Iterator[Notice]:
    """The notice that a search stops before it has looked at all of so many nodes, if it may."""
    wanted = n_nodes if settings.percentage is None else nodes_to_find(n_nodes, settings.percentage)
    if wanted < n_nodes:
        yield Notice(
            "share-of-nodes",
            f"a search for nodes stops at {wanted} of {n_nodes} that take the pod, and the next one goes on behind: "
            "the first one begins here at the first node, in a real kube-scheduler where its last one stopped",
            numbers={"count": wanted, "nodes": n_nodes},
        )


def _lost(text: str) -> Notice:
    return Notice("not-expressed", text)


def _selects_namespaces(rules: PodRules) -> bool:
    terms = (*rules.affinity, *rules.anti_affinity, *rules.preferred_affinity, *rules.preferred_anti_affinity)
    return any(
        requirement.key != NAMESPACE_NAME for term in terms for requirement in term.selector.namespace_labels or ()
    )
