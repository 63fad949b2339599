"""Running gangs that could end to make room for a pending job, the most promising and smallest first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from workbench.evaluate.whatif.cluster_edits import Finish, pod_subject
from workbench.evaluate.whatif.edit import EditedSession, set_of_replica
from workbench.evaluate.whatif.families import tightest_limit
from workbench.model.arrays import Longs
from workbench.model.resources import request_vector
from workbench.model.running_pod import RunningPod

__all__ = ["Victims"]

#: Label of a pod that a StatefulSet made.
_ORDINAL = "statefulset.kubernetes.io/pod-name"


class Victims:
    """Running gangs and single pods that do not belong to the job, with the room that each would leave.

    Only a trial by the policy tells which of them helps. The room is an upper bound: it is counted for a pod that asks
    for the smallest amount of each resource among the roles.

    `edits`: one for each gang, and for each pod of no gang. First those whose end leaves a HyperNode that the job may
    use with room for its pods; among equals those with fewer pods, then fewer GPUs, then by name. `case`: the session
    without edits. `most`: gangs at most whose end promises no room in a HyperNode that the job may use: a policy may
    not follow the job's constraint, and the end of a gang of the job's queue frees quota. Those of the queue come
    first.
    """

    def __init__(self, case: EditedSession, most: int) -> None:
        self._pods = _groups(case)
        self._gain = _Gain(case)
        queue = case.gang.queue

        def loss(edit: Finish) -> tuple[object, ...]:
            return edit.pods, edit.gpus, edit.victim.encode()

        promising = {edit for edit, pods in self._pods.items() if self._gain.promises(pods)}
        others = [edit for edit in self._pods if edit not in promising]
        others.sort(key=lambda edit: (all(pod.queue != queue for pod in self._pods[edit]), *loss(edit)))
        self.edits = (*sorted(promising, key=loss), *others[:most])

    def sets(self, most: int) -> list[tuple[Finish, ...]]:
        """Sets of two or more victims that together empty enough of one HyperNode, the smallest sets first.

        `most`: number of sets at most; ties by the pods that end, then by name.
        """
        found: set[tuple[Finish, ...]] = set()
        gains_of = {edit: self._gain.in_domains(self._pods[edit]) for edit in self.edits}
        for domain in self._gain.domains:
            gains = [(gain, edit) for edit in self.edits if (gain := gains_of[edit].get(domain))]
            gains.sort(key=lambda one: (-one[0], one[1].pods, one[1].victim.encode()))
            short = self._gain.short(domain)
            chosen: list[Finish] = []
            for gain, edit in gains:
                if short <= 0:
                    break
                chosen.append(edit)
                short -= gain
            if short <= 0 and len(chosen) > 1:
                found.add(tuple(sorted(chosen, key=lambda edit: edit.victim.encode())))
        order = sorted(found, key=lambda some: (len(some), sum(e.pods for e in some), [e.victim for e in some]))
        return order[:most]


def _groups(case: EditedSession) -> dict[Finish, list[RunningPod]]:
    """The victims with their pods: gangs, pods of no gang, and HyperJobs and LeaderWorkerSets as a whole.

    Never pods of the job itself, nor of the LeaderWorkerSet that it is a replica of, nor those of a DaemonSet.
    """
    snapshot = case.snapshot
    hyper = {}
    for key in snapshot.exclusive:
        namespace, name, job = key.split("/", 2)
        hyper[f"{namespace}/{job}"] = f"{namespace}/{name}"
    of: dict[str, list[RunningPod]] = {}
    for gang, pods in snapshot.running_index.gangs.items():
        whole = hyper.get(gang) or set_of_replica(pods[0]) or gang
        if gang not in case.own_keys and whole not in (*case.own_keys, case.own_set):
            of.setdefault(f"job {whole}", []).extend(pods)
    for lone in snapshot.running:
        if not lone.gang and not lone.terminating and not _is_of_daemon_set(lone):
            of.setdefault(pod_subject(lone), []).append(lone)
    made = {}
    for victim, mine in of.items():
        gangs = tuple(sorted({pod.gang for pod in mine if pod.gang}, key=str.encode))
        gpus = sum(pod.gpu_mask.bit_count() for pod in mine)
        made[Finish(victim, gangs, len(mine), gpus)] = mine
    return made


def _is_of_daemon_set(pod: RunningPod) -> bool:
    """Whether a DaemonSet made a pod, which it makes again on the same node."""
    return "controller-revision-hash" in pod.labels and _ORDINAL not in pod.labels


class _Gain:
    """Upper bounds of the room for pods of the job in each HyperNode that it may use, now and after victims end."""

    def __init__(self, case: EditedSession) -> None:
        snapshot, gang = case.snapshot, case.gang
        self._snapshot = snapshot
        waiting = [i for i, role in enumerate(gang.roles) if role.count]
        self._row = gang.rows_for(snapshot.resources)[0][waiting].min(axis=0)
        self._asked = self._row > 0
        self._accepts = np.logical_or.reduce([snapshot.filters.mask(gang.roles[i].filter) for i in waiting])
        self._idle = snapshot.idle
        self._fits = self._per_node(np.arange(snapshot.n_nodes), self._idle) if snapshot.n_nodes else np.zeros(0, int)
        self._needs = max(gang.min_available - gang.ready, 1)
        topology = snapshot.topology
        limit = tightest_limit(gang, topology)
        above = range(topology.n_domains) if limit is not None else ()
        #: HyperNodes inside which the job may go, the virtual top (-1) where nothing limits it.
        self.domains: Sequence[int] = [j for j in above if int(topology.tier[j]) <= max(limit or 0, 1)] or [-1]
        sums = (
            topology.domain_sums(self._fits[:, None].astype(np.int64))[:, 0] if snapshot.n_nodes else np.zeros(1, int)
        )
        self._room = {domain: int(sums[domain]) for domain in self.domains}
        self._domains_of_node: dict[int, list[int]] = {}
        for domain in self.domains:
            nodes = range(snapshot.n_nodes) if domain < 0 else topology.nodes_of(domain).tolist()
            for node in nodes:
                self._domains_of_node.setdefault(node, []).append(domain)

    def _per_node(self, nodes: npt.NDArray[np.intp], idle: Longs) -> Longs:
        if not self._asked.any():
            return np.zeros(len(nodes), dtype=np.int64)
        fits = (np.maximum(idle[:, self._asked], 0) // self._row[self._asked]).min(axis=1)
        return np.where(self._accepts[nodes], fits, 0)

    def in_domains(self, pods: Sequence[RunningPod]) -> dict[int, int]:
        """Further pods of the job that each HyperNode holds after the end of these pods; only HyperNodes that gain."""
        freed: dict[int, Longs] = {}
        for pod in pods:
            if pod.node >= 0:
                row = request_vector(self._snapshot.resources, pod.requests)[0]
                freed[pod.node] = freed.get(pod.node, np.zeros_like(row)) + row
        nodes = np.array(sorted(freed), dtype=np.intp)
        if not len(nodes):
            return {}
        after = self._per_node(nodes, self._idle[nodes] + np.array([freed[int(i)] for i in nodes]))
        gains: dict[int, int] = {}
        for node, more in zip(nodes.tolist(), (after - self._fits[nodes]).tolist(), strict=True):
            if more > 0:
                for domain in self._domains_of_node.get(node, ()):
                    gains[domain] = gains.get(domain, 0) + more
        return gains

    def promises(self, pods: Sequence[RunningPod]) -> bool:
        """Whether the end of these pods leaves some HyperNode with room for all pods that the job needs."""
        return any(self._room[domain] + gain >= self._needs for domain, gain in self.in_domains(pods).items())

    def short(self, domain: int) -> int:
        """Pods of the job that a HyperNode cannot hold now; at most 0 if it has room for all."""
        return self._needs - self._room[domain]
