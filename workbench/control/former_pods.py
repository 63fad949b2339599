"""`FormerPods`: where pods of restarted jobs ran before, for the policies that bring them back to their nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from workbench.control.kinds import Ref
from workbench.control.store import Object
from workbench.model.extras import AscendWish, FormerPod
from workbench.model.gang import Gang
from workbench.model.number_text import whole_number
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.switches import IS_HEALTHY, RANK_ANNOTATION, mark_of

__all__ = ["FormerPods"]


class FormerPods:
    """Remembers node, rank and switch annotation of every deleted pod whose PodGroup still exists.

    Only pods with the annotation of a rank are remembered, which the switch-affinity policies write. A restart of a
    whole Job deletes its pods, healthy ones too; by the document on switch affinity 2.0 ("Rescheduling Upon Faults")
    pods of healthy nodes return to their nodes (docs/reference/switch-affinity-ambiguities.md, B11).

    `known`: pods of a saved cluster, each with its PodGroup.
    """

    def __init__(self, known: Iterable[tuple[Ref, FormerPod]] = ()) -> None:
        self._pods: dict[Ref, dict[str, FormerPod]] = {}
        for group, former in known:
            self._pods.setdefault(group, {})[former.pod] = former

    @property
    def known(self) -> tuple[tuple[Ref, FormerPod], ...]:
        """Every remembered pod with its PodGroup, in the order in which they were deleted."""
        return tuple((group, former) for group, pods in self._pods.items() for former in pods.values())

    def deleted(self, group: Ref, pod: Object) -> None:
        """Take note of a deleted pod, as it was last stored, and of its PodGroup."""
        metadata = pod["metadata"]
        annotations = metadata.get("annotations") or {}
        rank, node = whole_number(annotations.get(RANK_ANNOTATION, "")), (pod.get("spec") or {}).get("nodeName")
        if rank is not None and node:
            unhealthy = annotations.get(IS_HEALTHY) == "1"
            former = FormerPod(rank, node, False, mark_of(annotations), metadata["name"], unhealthy)
            self._pods.setdefault(group, {})[former.pod] = former

    def forget(self, group: Ref) -> None:
        """Forget the pods of a PodGroup that is gone."""
        self._pods.pop(group, None)

    def added_to(self, gang: Gang, snapshot: ClusterSnapshot) -> Gang:
        """The gang with the nodes that its pending pods had before; a node that is gone or not ready counts as faulty.

        `snapshot`: the cluster at the beginning of the session.
        """
        known = self._pods.get(Ref("PodGroup", gang.namespace, gang.name))
        if not known or gang.jobs:
            return gang
        topology = snapshot.topology
        former = tuple(
            replace(one, faulty=not topology.has_node(one.node) or bool(snapshot.not_ready[topology.node(one.node)]))
            for pod in gang.pods()
            if (one := known.get(pod.name)) is not None
        )
        return gang.with_extra(replace(gang.extra(AscendWish), former=former))
