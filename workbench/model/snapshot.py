"""`ClusterSnapshot`: the immutable state of a cluster at one moment, which policies read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from workbench.kernels.subsets import words_of_masks as gpu_words
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.cluster_facts import NO_MATRIX, ClusterFacts, Queue
from workbench.model.extras import AscendWish, Extra, KoordinatorWish, extras_of
from workbench.model.gpu_shares import add_shares, gpu_width, shares_of_mask, words_of_mask
from workbench.model.ledger import Ledger
from workbench.model.placement import Placement
from workbench.model.pod_counts import pod_labels
from workbench.model.resources import request_vector
from workbench.model.running_pod import RunningPod
from workbench.model.switches import SwitchTable

__all__ = ["NO_MATRIX", "ClusterSnapshot", "Queue", "gpu_words"]


class ClusterSnapshot(ClusterFacts):
    """Nodes, topology, GPUs and running pods of a cluster at one moment.

    The fields, and what follows from them, are described at `ClusterFacts`. A snapshot adds the ledger of a session
    that starts from it, and the snapshots after a change.

    Examples
    --------
    >>> import workbench as wb
    >>> snapshot = wb.generate_scenario("three-level-tree").snapshot
    >>> snapshot.n_nodes, snapshot.topology.tiers
    (8, (1, 2, 3))
    >>> after = snapshot.with_placement(wb.place(wb.gang("mine", pods=2, gpus=8), snapshot))
    >>> int(after.to_dataframe()["gpus_free"].sum())
    48
    """

    def ledger(self) -> Ledger:
        """A working copy for one session; HyperNodes in `exclusive` have no accelerator left in it."""
        return Ledger(self)

    def with_switches(self, switches: SwitchTable) -> ClusterSnapshot:
        """A copy of the snapshot with the leaf switches in `switches`."""
        return dataclasses.replace(self, switches=switches)

    def with_extra(self, *extras: Extra) -> ClusterSnapshot:
        """A copy of the snapshot with these extras, each in place of the one of its class."""
        return dataclasses.replace(self, extras=extras_of(*self.extras.values(), *extras))

    def with_matrix(self, matrix: BandwidthMatrix, nodes: npt.NDArray[np.bool_] | None = None) -> ClusterSnapshot:
        """A copy of the snapshot in which some nodes have the GPU bandwidth matrix `matrix`.

        `nodes` is a bool mask of shape (n,); None means all nodes.
        """
        node_matrix = self.node_matrix.copy()
        node_matrix[np.ones(self.n_nodes, dtype=np.bool_) if nodes is None else nodes] = len(self.matrices)
        return dataclasses.replace(self, matrices=(*self.matrices, matrix), node_matrix=node_matrix)

    def with_placement(self, placement: Placement) -> ClusterSnapshot:
        """The snapshot as it will be once all pods of a placement are running."""
        used, gpu_free = self.used.copy(), self.gpu_free.copy()
        shares = None if self.gpu_shares is None else self.gpu_shares.copy()
        started = running_pods(placement)
        for pod in started:
            row, _ = request_vector(self.resources, pod.requests)
            used[pod.node] += row
            if pod.gpu_milli:
                if shares is None:
                    shares = np.zeros((self.n_nodes, gpu_width(self.gpu_total)), dtype=np.int16)
                taken = shares_of_mask(pod.node, pod.gpu_mask, pod.gpu_milli)
                add_shares(1, *taken, shares, gpu_free, self.gpu_total)
            elif pod.gpu_mask:
                gpu_free[pod.node] &= ~words_of_mask(pod.gpu_mask, gpu_free.shape[1])
        running, records = (*self.running, *started), {**self.records, **placement.records}
        bound = {(pod.namespace, pod.name) for pod in started}
        plans = (plan.without_pods(bound) for plan in self.gpu_plans)
        return dataclasses.replace(
            self,
            used=used,
            gpu_free=gpu_free,
            gpu_shares=shares,
            running=running,
            records=records,
            gpu_plans=tuple(plan for plan in plans if plan.pods),
            exclusive={**self.exclusive, **placement.exclusive},
        )

    def without(self, gang: str) -> ClusterSnapshot:
        """The snapshot after the gang named ``namespace/name`` has ended and its pods have given back their
        resources.
        """
        return self.without_pods(lambda pod: pod.gang == gang).without_record(gang)

    def without_record(self, gang: str) -> ClusterSnapshot:
        """The snapshot without the HyperNodes that are recorded for a gang, or that its Jobs hold alone."""
        prefix = f"{gang}/"
        records = {name: at for name, at in self.records.items() if name != gang and not name.startswith(prefix)}
        exclusive = {name: at for name, at in self.exclusive.items() if not name.startswith(prefix)}
        if len(records) == len(self.records) and len(exclusive) == len(self.exclusive):
            return self
        return dataclasses.replace(self, records=records, exclusive=exclusive)

    def without_pods(self, ended: Callable[[RunningPod], bool]) -> ClusterSnapshot:
        """The snapshot after the running pods for which `ended` returns True have given back their resources."""
        return self.after_end_of([pod for pod in self.running if ended(pod)])


def running_pods(placement: Placement) -> list[RunningPod]:
    """The placed pods of a placement as they will be once they run, in the order of the gang."""
    gang, found = placement.gang, []
    job_class = placement.job_class or gang.extra(AscendWish).job_class
    for position in np.flatnonzero(placement.node >= 0).tolist():
        ref = gang.pod(position)
        found.append(
            RunningPod(
                namespace=gang.namespace,
                name=ref.name,
                node=int(placement.node[position]),
                requests=ref.role.requests,
                gang=gang.key,
                role=ref.role.name,
                gpu_mask=placement.gpu_mask(position),
                labels=pod_labels(gang, ref.role),
                annotations={**ref.role.annotations, **placement.annotations_of(position)},
                queue=gang.queue,
                job_class=job_class,
                gpu_group=gang.extra(KoordinatorWish).gpu_group,
                assumed=ref.role.assumed,
                # Binding a pod writes it: the resourceVersion that it waited with is out of date.
                uid=ref.uid,
                gpu_milli=ref.role.gpu_milli,
                priority=ref.role.priority,
                rules=ref.role.rules,
            )
        )
    return found
