"""Running jobs that lose pods because an item of the drawing has failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from workbench.evaluate.whatif.cluster_edits import pod_subject
from workbench.model.counted import counted
from workbench.model.snapshot import ClusterSnapshot
from workbench.topology.draft import Draft
from workbench.topology.draft_objects import cut_off

__all__ = ["lost_line", "lost_texts"]

#: Jobs that the line names; the rest is counted.
_NAMED = 6


def lost_texts(draft: Draft, before: ClusterSnapshot | None, ids: Collection[int] | None = None) -> list[str]:
    """The running jobs that lose pods on nodes that a failed node, switch or link cuts off.

    Parameters
    ----------
    draft : Draft
    before : ClusterSnapshot, optional
        The cluster that is drawn, for its running pods; None: nothing runs.
    ids : collection of int, optional
        Only on these nodes; None: on all.

    Returns
    -------
    list of str
        ``research/llama-70b: 3 of 6 pods``, by name.
    """
    if before is None or not before.running or not any(item.failed or item.link_failed for item in draft):
        return []
    cut = cut_off(draft)
    names = {draft[i].name for i in cut if draft[i].kind == "node" and (ids is None or i in ids)}
    node_names = before.topology.node_names
    running, lost = Counter[str](), Counter[str]()
    for pod in before.running:
        key = pod.gang or pod_subject(pod)
        running[key] += 1
        lost[key] += pod.node >= 0 and node_names[pod.node] in names
    hit = sorted((key for key, n in lost.items() if n), key=str.encode)
    return [f"{key}: {lost[key]} of {counted(running[key], 'pod')}" for key in hit]


def lost_line(draft: Draft, before: ClusterSnapshot | None) -> str:
    """All that is lost in one line; empty if nothing is."""
    texts = lost_texts(draft, before)
    if not texts:
        return ""
    more = f"; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    lost = counted(len(texts), "running job loses pods on failed nodes", "running jobs lose pods on failed nodes")
    return f"{lost}: {'; '.join(texts[:_NAMED])}{more}"
