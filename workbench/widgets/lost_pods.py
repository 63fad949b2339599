"""Running jobs on items of the drawing that have failed or are cordoned, and the pods that they lose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from workbench.evaluate.whatif.cluster_edits import pod_subject
from workbench.model.counted import counted
from workbench.model.snapshot import ClusterSnapshot
from workbench.topology.draft import Draft
from workbench.topology.draft_objects import cut_off

__all__ = ["HitJob", "hit_jobs", "lost_line"]

#: Jobs that the line names; the rest is counted.
_NAMED = 6


@dataclass(frozen=True)
class HitJob:
    """A running job with pods on nodes that are cut off or cordoned.

    `key`: ``namespace/name``, or ``pod namespace/name`` of a pod that belongs to no gang. `lost`: those on nodes that a
    failed node, switch or link cuts off. `staying`: those on nodes that are only cordoned: they go on, but would not
    come back there.
    """

    key: str
    pods: int
    lost: int
    staying: int

    @property
    def text(self) -> str:
        """What happens to its pods: ``loses 3 of 6 pods``."""
        of = f"of {counted(self.pods, 'pod')}"
        staying = f"{self.staying} {of} {'goes' if self.staying == 1 else 'go'} on, on cordoned nodes"
        lost = f"loses {self.lost} {of}"
        return "; ".join(text for text, n in ((lost, self.lost), (staying, self.staying)) if n)


def hit_jobs(draft: Draft, before: ClusterSnapshot | None, ids: Collection[int] | None = None) -> list[HitJob]:
    """The running jobs with pods on nodes that are cut off or cordoned, by name.

    `before`: the cluster that is drawn, for its running pods; None: nothing runs. `ids`: only pods on these nodes;
    None: on all.
    """
    if before is None or not before.running or not any(i.failed or i.link_failed or i.cordoned for i in draft):
        return []
    nodes = [item for item in draft if item.kind == "node" and (ids is None or item.id in ids)]
    cut_ids = cut_off(draft)
    cut = {item.name for item in nodes if item.id in cut_ids}
    cordoned = {item.name for item in nodes if item.cordoned} - cut
    names = before.topology.node_names
    running, lost, staying = Counter[str](), Counter[str](), Counter[str]()
    for pod in before.running:
        key = pod.gang or pod_subject(pod)
        running[key] += 1
        if pod.node >= 0:
            lost[key] += names[pod.node] in cut
            staying[key] += names[pod.node] in cordoned
    hit = sorted((key for key in running if lost[key] or staying[key]), key=str.encode)
    return [HitJob(key, running[key], lost[key], staying[key]) for key in hit]


def lost_line(hits: Sequence[HitJob]) -> str:
    """The jobs that lose pods, and those with pods on cordoned nodes, in one line; empty if there are none."""
    losing = [f"{hit.key}: {hit.lost} of {counted(hit.pods, 'pod')}" for hit in hits if hit.lost]
    staying = [f"{hit.key}: {hit.staying} of {counted(hit.pods, 'pod')}" for hit in hits if not hit.lost]
    lost = counted(len(losing), "running job loses pods on failed nodes", "running jobs lose pods on failed nodes")
    kept = counted(
        len(staying),
        "running job has pods on cordoned nodes, which go on",
        "running jobs have pods on cordoned nodes, which go on",
    )
    return ". ".join(f"{head}: {_listed(jobs)}" for head, jobs in ((lost, losing), (kept, staying)) if jobs)


def _listed(texts: Sequence[str]) -> str:
    more = f"; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return "; ".join(texts[:_NAMED]) + more
