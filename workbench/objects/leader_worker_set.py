"""`LeaderWorkerSet` (leaderworkerset.x-k8s.io): groups of one leader and its workers, read from a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.model.notice import Notice
from workbench.objects.fields import get_map, get_text
from workbench.objects.pod import PodTemplate
from workbench.objects.top_owner import (
    OwnedPods,
    TopOwner,
    check_total,
    get_pods,
    owner_metadata,
    read_role_template,
)

__all__ = ["LeaderWorkerSet", "read_leader_worker_set"]

_DOMAIN = "leaderworkerset.sigs.k8s.io"
#: Annotations of the set: the node label of which each group, or each sub-group, gets a value alone.
_EXCLUSIVE = (f"{_DOMAIN}/exclusive-topology", f"{_DOMAIN}/subgroup-exclusive-topology")

_TEMPLATE = "spec.leaderWorkerTemplate"


@dataclass(frozen=True)
class LeaderWorkerSet(TopOwner):
    """A LeaderWorkerSet as read from a manifest.

    `replicas`: number of groups. `size`: pods of a group, the leader among them. `leader`: None means the leader is
    made from the template of the workers. `leader_first`: workers are made once their leader is ready (startupPolicy
    LeaderReady).
    """

    replicas: int
    size: int
    leader: PodTemplate | None
    worker: PodTemplate
    leader_first: bool

    @property
    def pods(self) -> tuple[OwnedPods, ...]:
        return (
            (OwnedPods("main", self.size, self.worker, "size"),)
            if self.leader is None
            else (
                OwnedPods("leader", 1, self.leader),
                OwnedPods("worker", self.size - 1, self.worker, "size", beside=1),
            )
        )

    @property
    def exclusive(self) -> str:
        """Label key by which each group or sub-group wants a topology domain of its own; empty: none."""
        annotations = self.metadata.annotations
        return next((annotations[key] for key in _EXCLUSIVE if annotations.get(key)), "")


def read_leader_worker_set(data: Mapping[str, Any]) -> LeaderWorkerSet:
    """Read a LeaderWorkerSet from a parsed manifest; replicas and size are 1 if absent.

    Raises InputError: a field of the wrong type, negative replicas, a size below 1, or more than a million pods.
    """
    notes: list[Notice] = []
    spec = get_map(data, "spec", "")
    metadata = owner_metadata(data, notes)
    group = get_map(spec, "leaderWorkerTemplate", "spec")
    replicas = get_pods(spec, "replicas", "spec", default=1)
    size = get_pods(group, "size", _TEMPLATE, default=1, least=1)
    check_total(replicas * size, f"{_TEMPLATE}.size")
    leader = None
    if group.get("leaderTemplate") is not None:
        leader = read_role_template(group, _TEMPLATE, notes, "leaderTemplate")
    return LeaderWorkerSet(
        metadata=metadata,
        kind="LeaderWorkerSet",
        suspended=False,
        finished=False,
        replicas=replicas,
        size=size,
        leader=leader,
        worker=read_role_template(group, _TEMPLATE, notes, "workerTemplate"),
        leader_first=get_text(spec, "startupPolicy", "spec") == "LeaderReady",
        notes=tuple(notes),
    )
