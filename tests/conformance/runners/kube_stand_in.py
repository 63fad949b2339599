"""A stand-in for the queue and the API server around the cycles of groups: what happens step by step is told to it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from tests.conformance.runners.kube_group_objects import groups_of, key_of, member_of
from tests.conformance.runners.kube_objects import nodes_of, shape_of
from workbench.policies.kube.choose import walk
from workbench.policies.kube.cluster import KubeCluster
from workbench.policies.kube.groups.conditions import PodGroupCondition, leaf_outcomes
from workbench.policies.kube.groups.cycle import GroupCycle, GroupOutcome
from workbench.policies.kube.groups.group_pods import GroupPod
from workbench.policies.kube.groups.hierarchy import Hierarchy, KubePodGroup
from workbench.policies.kube.groups.placements import GroupPlacements
from workbench.policies.kube.groups.preemption import preempt
from workbench.policies.kube.groups.quorum import ready_to_queue
from workbench.policies.kube.groups.scene import KubeScene
from workbench.policies.kube.groups.submission import submit
from workbench.policies.kube.groups.validation import validate
from workbench.policies.kube.one_pod import schedule_pod
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.status import Code

Json = dict[str, Any]

SETTINGS = KubeSettings(ties="heap", percentage=0)


class _Scene(KubeScene):
    """A scene whose placements are tried in an order of chance, as upstream's are."""

    shuffle: Random | None = None

    def placements(self, group: KubePodGroup, nodes: np.ndarray) -> GroupPlacements[np.ndarray]:
        made = super().placements(group, nodes)
        if self.shuffle is None:
            return made
        return GroupPlacements(tuple(self.shuffle.sample(made.found, len(made.found))), made.status)


class StandIn:
    """Objects, and a queue whose entities are pods without group and root groups.

    Parameters
    ----------
    gates : sequence of str
        Feature gates that are on.
    settings : KubeSettings
    """

    def __init__(self, gates: Sequence[str], settings: KubeSettings = SETTINGS) -> None:
        self.gates, self.settings = frozenset(gates), settings
        # Where the next search for nodes begins.
        self.start = 0
        self.composites = "CompositePodGroup" in gates
        self.by_placement = "TopologyAwareWorkloadScheduling" in gates
        self.nodes: list[Json] = []
        self.namespaces: Json = {}
        self.groups: list[KubePodGroup] = []
        self.pods: dict[str, GroupPod] = {}
        self.conditions: dict[str, PodGroupCondition] = {}
        self.removed: set[str] = set()
        self.errors: set[str] = set()
        self.asleep: set[str] = set()
        # Order in which placements are tried; None: by name.
        self.shuffle: Random | None = None
        self._clock = 0
        self._shapes: dict[str, PodShape] = {}

    # What arrives and goes.

    def add_nodes(self, nodes: Sequence[Json]) -> None:
        self.nodes += nodes
        self.asleep.clear()

    def add_group(self, group: Json) -> None:
        (made,) = groups_of([group])
        self.groups = [*(each for each in self.groups if each.key != made.key), made]
        self.wake(made.key)

    def update_group(self, group: Json) -> None:
        (made,) = groups_of([group])
        (old,) = [each for each in self.groups if each.key == made.key]
        self.groups = [made if each is old else each for each in self.groups]
        if made.minimum < old.minimum:
            self.wake(made.key)

    def delete_group(self, name: str) -> None:
        self.groups = [each for each in self.groups if each.name != name]

    def add_pods(self, pods: Sequence[Json]) -> None:
        index = {node["name"]: i for i, node in enumerate(self.nodes)}
        for pod in pods:
            self._clock += 1
            made = GroupPod(
                pod["name"],
                self.shape(pod),
                key_of(pod) if "GenericWorkload" in self.gates else "",
                pod.get("priority", 0),
                arrival=self._clock,
                scheduler=pod.get("scheduler", ""),
                preemption_policy=pod.get("preemption_policy", ""),
                node=index[pod["node"]] if pod.get("node") else -1,
            )
            self.pods[pod["name"]] = made
            self.wake(made.group)

    def shape(self, pod: Json) -> PodShape:
        """The shape of a pod; pods that differ in their names only share one."""
        told = {key: value for key, value in pod.items() if key not in ("name", "uid", "node", "group")}
        return self._shapes.setdefault(json.dumps(told, sort_keys=True), shape_of(pod))

    def delete_pods(self, names: Sequence[str]) -> None:
        for name in names:
            self.pods.pop(name, None)
        self.asleep.clear()

    def wake(self, group: str) -> None:
        """Let the tree of a group be tried again."""
        if group:
            self.asleep.discard(self.entity(group))

    def node_of(self, name: str) -> str:
        """Name of a pod's node; empty: it has none."""
        node = self.pods[name].node
        return str(self.nodes[node]["name"]) if node >= 0 else ""

    def told(self) -> dict[str, list[str]]:
        """Status and reason of the condition of each PodGroup that has one."""
        return {name: [each.status, each.reason] for name, each in self.conditions.items()}

    # Cycles.

    def entity(self, group: str) -> str:
        """Key of the queue's entity to which a group belongs."""
        if not self.composites:
            return group
        root = Hierarchy(self.groups).root(group)
        return root.key if root else group

    def waiting(self) -> list[tuple[str, list[GroupPod]]]:
        """Entities that may be tried, with their pods: by priority, then by arrival."""
        hierarchy = self.hierarchy()
        found: dict[str, list[GroupPod]] = {}
        for pod in self.pods.values():
            if pod.node < 0 and self.gate(hierarchy, pod):
                found.setdefault(self.entity(pod.group) if pod.group else pod.name, []).append(pod)
        by_key = {group.key: group for group in self.groups}

        def order(item: tuple[str, list[GroupPod]]) -> tuple[int, int]:
            priority = by_key[item[0]].priority if item[0] in by_key else item[1][0].priority
            return -priority, min(pod.arrival for pod in item[1])

        return sorted(found.items(), key=order)

    def hierarchy(self) -> Hierarchy:
        if self.composites:
            return Hierarchy(self.groups)
        return Hierarchy([KubePodGroup(**{**vars_of(group), "parent": ""}) for group in self.groups])

    def gate(self, hierarchy: Hierarchy, pod: GroupPod) -> bool:
        known = list(self.pods.values())
        return ready_to_queue(
            hierarchy, pod.group, lambda group: sum(each.group == group.key for each in known), self.composites
        ).ok

    def cluster(self) -> KubeCluster:
        running = [(pod.shape, pod.node) for pod in self.pods.values() if pod.node >= 0]
        made = KubeCluster(nodes_of(self.nodes), running, self.namespaces)
        made.start = self.start
        return made

    def order(self, cluster: KubeCluster) -> np.ndarray:
        return walk(cluster.nodes, np.arange(cluster.nodes.n, dtype=np.int32))

    def attempt(self, entity: str, pods: Sequence[GroupPod], *, evict: bool = True) -> str:
        """Try one entity; answers ``success``, ``error``, ``evicted`` or ``failed``."""
        cluster = self.cluster()
        if not pods[0].group:
            (pod,) = pods
            pod.attempts += 1
            pod.node = schedule_pod(cluster, pod.shape, self.order(cluster), self.settings).node
            self.start = cluster.start
            return "success" if pod.node >= 0 else "failed"
        hierarchy = self.hierarchy()
        root = hierarchy[entity]
        leaves = {leaf.key for leaf in hierarchy.leaves(root)}
        members = [pod for pod in self.pods.values() if pod.group in leaves]
        scene = _Scene(cluster, hierarchy, members, self.settings)
        scene.shuffle = self.shuffle
        status = validate(
            root,
            [member_of(pod) for pod in pods],
            [member_of(pod) for pod in members if pod.node >= 0],
            ("",),
            "PodGroupPreemptionPolicy" in self.gates,
        )
        if status.ok:
            outcome = GroupCycle(scene, self.by_placement).run(root, self.order(cluster))
            self.start = cluster.start
        else:
            outcome = GroupOutcome(root, status)
        evicted = False
        if evict and outcome.status.code is Code.UNSCHEDULABLE and self.may_preempt(root, pods):
            running = [pod for pod in self.pods.values() if pod.node >= 0]
            found = preempt(scene, root, running, self.order(cluster), by_placement=self.by_placement)
            evicted = found is not None
            if found is not None:
                for pod in found.victims:
                    self.removed.add(pod.name)
                    del self.pods[pod.name]
                for pod, node in found.nominated:
                    pod.nominated = node
                self.asleep.clear()
        for leaf in leaf_outcomes(hierarchy, outcome):
            mine = scene.pods(leaf.group)
            done = submit(leaf.status, leaf.pods, mine, self.conditions.get(leaf.group.name))
            self.conditions[leaf.group.name] = done.condition
            for pod in mine:
                pod.attempts += 1
                self.errors.discard(pod.name)
                if leaf.status.code is Code.ERROR:
                    self.errors.add(pod.name)
            for pod, node in done.bound.items():
                pod.node = node
        if outcome.succeeded:
            return "success"
        return "evicted" if evicted else "error" if outcome.status.code is Code.ERROR else "failed"

    def may_preempt(self, root: KubePodGroup, pods: Sequence[GroupPod]) -> bool:
        if "PodGroupPreemptionPolicy" in self.gates:
            return root.preemption_policy != "Never"
        return all(pod.preemption_policy != "Never" for pod in pods)

    def settle(self) -> None:
        """Try what may be tried until nothing changes any more."""
        while True:
            left = [item for item in self.waiting() if item[0] not in self.asleep]
            if not left:
                return
            entity, pods = left[0]
            if self.attempt(entity, pods) not in ("success", "evicted"):
                self.asleep.add(entity)

    def once(self) -> None:
        """Try each entity once, in the order of its first pod."""
        for entity, pods in self.waiting():
            self.attempt(entity, pods, evict=False)

    def in_turn(self, cycles: int) -> None:
        """Try entities in turn: what a successful group leaves over comes next, a failed group comes behind the others.

        Parameters
        ----------
        cycles : int
            Cycles after which nothing is tried any more.
        """
        queue = deque(entity for entity, _ in self.waiting())
        for _ in range(cycles):
            if not queue:
                return
            entity = queue.popleft()
            pods = dict(self.waiting()).get(entity)
            if not pods:
                continue
            is_group = bool(pods[0].group)
            done = self.attempt(entity, pods, evict=False)
            if is_group and done == "success" and entity in dict(self.waiting()):
                queue.appendleft(entity)
            elif is_group and done != "success":
                queue.append(entity)


def vars_of(group: KubePodGroup) -> Json:
    return {name: getattr(group, name) for name in KubePodGroup.__dataclass_fields__}
