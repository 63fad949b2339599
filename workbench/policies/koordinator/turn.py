"""Places the pods of one gang by Koordinator's rules: by its group's plan, by a new plan, or pod by pod.

Source: Koordinator proposal 20230314 "GPU topology-aware scheduling", "main steps"; docs/reference/gpu-topology.md,
sections A2 to A4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.model.arrays import Ints, Words
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.extras import GpuPlan
from workbench.model.gpu_shares import words_of_mask
from workbench.model.notice import Notice
from workbench.model.placement import words_to_mask
from workbench.policies.koordinator.gpu_choice import GpuChoice
from workbench.policies.koordinator.node_classes import matrix_for, node_classes
from workbench.policies.koordinator.node_set import choose_nodes
from workbench.policies.koordinator.plan_cache import plan_action
from workbench.policies.request import Request

__all__ = ["GangTurn"]


class GangTurn:
    """Places one gang's pods, on copies of the free resources, by the rules of Koordinator's GPU groups.

    `free`: ndarray of shape (n, w), uint64; GPUs that are free for this gang; changed. `members`: GPUs that bound pods
    of the group hold on each node; changed. `bound`: number of the group's pods that are bound. `node`: ndarray of
    shape (n_pods,), int32; node of each pod, -1 for none. `masks`: GPUs of each placed pod that asks for some.
    `members`: GPUs of the whole group on each node. `planned`: pods that a plan of the group covers.
    """

    # `by_plan` follows the plan that lives; what it leaves, `together` places by a new plan, or, where the group needs
    # none, `one_by_one` pod after pod (`alone`). Whatever has a node goes through `_give`, which chooses the GPUs, and
    # `_take`, which writes the pods and their GPUs down and lowers what is free.

    def __init__(self, request: Request, free: Words, choice: GpuChoice, members: dict[int, int], bound: int) -> None:
        self.node: Ints = np.full(request.gang.n_pods, -1, dtype=np.int32)
        self.masks: dict[int, int] = {}
        self.members = members
        self.planned: set[int] = set()
        self.warnings: list[Notice] = []
        self.idle = request.demand.idle.copy()
        self._request = request
        self._free = free
        self._choice = choice
        self._bound = bound
        self._undealt: set[int] = set()
        # By number of GPUs the bottleneck of each node, NaN: not known; and answers to questions, which nodes share.
        self._bottlenecks: dict[int, NDArray[np.float64]] = {}
        self._values: dict[tuple[BandwidthMatrix | None, int, int, int], float] = {}
        self._chosen: dict[tuple[BandwidthMatrix | None, int, tuple[int, ...], int], tuple[int, ...]] = {}

    def pods(self) -> list[int]:
        """Pods in the order in which they are placed: roles by priority, then in the gang's order."""
        start = self._request.gang.role_start
        return [pod for role in self._request.demand.order for pod in range(int(start[role]), int(start[role + 1]))]

    def by_plan(self, plan: GpuPlan | None) -> list[int]:
        """Place the pods as a live plan assigns them.

        Returns list of int: pods that need a new plan: all pods if there is no plan, or if the plan is invalid and no
        pod is bound; otherwise none, because pods that cannot follow the plan were placed by themselves.
        """
        pods = self.pods()
        if plan is None:
            return pods
        gang = self._request.gang
        for pod in pods:
            entry = plan.pod(gang.pod(pod).name)
            node = self._planned_node(pod, entry.node, entry.gpu_mask) if entry is not None else -1
            action = plan_action(self._bound, node >= 0)
            if entry is not None and action == "use-plan":
                self._take(node, [pod], {pod: entry.gpu_mask} if entry.gpu_mask else {})
                self.planned.add(pod)
                self._bound += 1
                continue
            why = "holds no entry for it" if entry is None else f"gave it {entry.node}, which it cannot have any more"
            name = gang.pod(pod).name
            text = f"the plan of the GPU group {why}: {name}, {action}"
            code = "gpu-group-replanned" if action == "replan-group" else "gpu-pod-placed-alone"
            self.warnings.append(Notice(code, text, f"Pod {gang.namespace}/{name}"))
            if action == "replan-group":
                return pods
            self._bound += self.alone(pod)
        return []

    def _planned_node(self, pod: int, name: str, mask: int) -> int:
        """Index of the node ``name`` if the pod still fits there and the GPUs of ``mask`` are free; else -1."""
        topology, role = self._request.ledger.topology, int(self._request.gang.role_of_pod[pod])
        if not topology.has_node(name) or mask.bit_count() != self._request.gang.roles[role].n_gpus:
            return -1
        node = topology.node(name)
        there = np.array([node], dtype=np.int32)
        fits = self._request.demand.capacity_of(there, role, self.idle, 1)[0] > 0
        return node if fits and not mask & ~words_to_mask(self._free[node]) else -1

    def together(self, pods: Sequence[int]) -> bool:
        """Place all these pods (indices in the gang) together by a new plan.

        Return False, with nothing changed, if impossible.
        """
        gang = self._request.gang
        roles = [role for role in self._request.demand.order if any(gang.role_of_pod[pod] == role for pod in pods)]
        of_role = {role: [pod for pod in pods if gang.role_of_pod[pod] == role] for role in roles}
        counts = tuple(len(of_role[role]) for role in roles)
        gpus = tuple(gang.roles[role].n_gpus for role in roles)
        classes = node_classes(self._request, roles, counts, self.idle, self._free, self._choice, self.members)
        found = choose_nodes(classes, counts, gpus) if classes else None
        if found is None:
            return False
        if not found.proven:
            text = "too many ways to place the group: its nodes hold it, but others may be fewer, fuller or faster"
            self.warnings.append(Notice("group-search-cut-short", text))
        for node, taken in found.nodes:
            here = [pod for role, count in zip(roles, taken, strict=True) for pod in of_role[role][:count]]
            for role, count in zip(roles, taken, strict=True):
                del of_role[role][:count]
            self._give(node, here)
        self.planned.update(pods)
        return True

    def one_by_one(self, pods: Iterable[int]) -> list[int]:
        """Place each pod by itself; return the roles of pods that find no node, each once."""
        failed: list[int] = []
        for pod in pods:
            role = int(self._request.gang.role_of_pod[pod])
            if role not in failed and not self.alone(pod):
                failed.append(role)
        return failed

    def alone(self, pod: int) -> bool:
        """Place one pod on the node with least GPUs left over, then the largest bottleneck, then the smallest name.

        Returns False if no node takes the pod.
        """
        role = int(self._request.gang.role_of_pod[pod])
        count = self._request.gang.roles[role].n_gpus
        left = np.bitwise_count(self._free).sum(axis=1, dtype=np.int64) - count
        fits = (self._request.demand.capacity(role, self.idle, 1) > 0) & (left >= 0)
        nodes = np.flatnonzero(fits)
        if not len(nodes):
            return False
        tightest = nodes[left[nodes] == left[nodes].min()]
        rank = self._request.ledger.topology.node_rank
        values = self._bottlenecks_of(tightest, count)
        best = tightest[values == values.max()]
        self._give(int(best[np.argmin(rank[best])]), [pod])
        return True

    def _bottlenecks_of(self, nodes: NDArray[np.intp], count: int) -> NDArray[np.float64]:
        """Bottleneck (GB/s) of the best `count` free GPUs of each node; computed again where GPUs were taken."""
        known = self._bottlenecks.setdefault(count, np.full(len(self._free), np.nan))
        for node in nodes[np.isnan(known[nodes])].tolist():
            question = self._matrix(node), words_to_mask(self._free[node]), count, self.members.get(node, 0)
            if question not in self._values:
                self._values[question] = self._choice.value(*question)
            known[node] = self._values[question]
        return known[nodes]

    def _give(self, node: int, pods: Sequence[int]) -> None:
        """Put pods (indices in the gang) on a node and choose their GPUs together, those of larger pods first."""
        roles, of_pod = self._request.gang.roles, self._request.gang.role_of_pod
        asking = sorted((p for p in pods if roles[of_pod[p]].n_gpus), key=lambda p: (-roles[of_pod[p]].n_gpus, p))
        sizes = tuple([roles[of_pod[pod]].n_gpus for pod in asking])
        masks: tuple[int, ...] = ()
        if sizes:
            matrix = self._matrix(node)
            # Nodes with equal links and equal free GPUs are asked about once.
            question = matrix, words_to_mask(self._free[node]), sizes, self.members.get(node, 0)
            if question not in self._chosen:
                self._chosen[question] = self._choice.masks(*question)
            masks = self._chosen[question]
            if self._choice.undealt(matrix, sizes):
                self._undealt.add(node)
        self._take(node, pods, dict(zip(asking, masks, strict=True)))

    def _take(self, node: int, pods: Sequence[int], masks: Mapping[int, int]) -> None:
        """Give a node to pods, and the GPUs in ``masks`` to those that have some."""
        pods = list(pods)
        self.node[pods] = node
        self.idle[node] -= self._request.demand.rows[self._request.gang.role_of_pod[pods]].sum(axis=0)
        if masks:
            for known in self._bottlenecks.values():
                known[node] = np.nan
            self.masks.update(masks)
            mask = sum(masks.values())
            self.members[node] = self.members.get(node, 0) | mask
            self._free[node] &= ~words_of_mask(mask, self._free.shape[1])

    def _matrix(self, node: int) -> BandwidthMatrix | None:
        return matrix_for(self._request, node)

    def gpu_warnings(self) -> list[Notice]:
        """Warnings for the user about the chosen GPUs, for example that their division among pods is not exact."""
        found = []
        nodes = {int(self.node[pod]) for pod in self.masks}
        several = {node for node in nodes if self.members[node].bit_count() > 1}
        blind = sum(matrix_for(self._request, node) is None for node in several)
        if blind:
            text = (
                f"{blind} of {counted(len(nodes), 'node has', 'nodes have')} no bandwidth matrix: lowest free "
                "GPUs taken"
            )
            found.append(Notice("no-bandwidth-matrix", text, numbers={"count": blind, "of": len(nodes)}))
        if self._undealt:
            text = (
                f"on {counted(len(self._undealt), 'node')} of more than 16 GPUs the union is the best one, but "
                "how it is dealt to "
            )
            text += "the pods is not"
            found.append(Notice("gpus-dealt-by-index", text, numbers={"count": len(self._undealt)}))
        return found
