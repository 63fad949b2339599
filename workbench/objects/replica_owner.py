"""ReplicaSet and StatefulSet (apps/v1), which create pods without a Volcano Job, read from manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.model.labels import Requirement
from workbench.objects.fields import get_count, get_map, get_text
from workbench.objects.metadata import Metadata, read_metadata
from workbench.objects.selectors import read_label_selector

__all__ = ["ReplicaOwner", "read_replica_owner"]

_REVISION_LABEL = "controller-revision-hash"


@dataclass(frozen=True)
class ReplicaOwner:
    """A ReplicaSet or StatefulSet as read from a manifest.

    Attributes
    ----------
    metadata : Metadata
    replicas : int
    selector : tuple of Requirement
    revision : str, optional
        The newest revision of a StatefulSet (status.updateRevision); None for a ReplicaSet.
    """

    metadata: Metadata
    replicas: int
    selector: tuple[Requirement, ...]
    revision: str | None = None

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector matches a pod's labels.

        For a StatefulSet the pod must also be of the newest revision.
        """
        newest = self.revision is None or labels.get(_REVISION_LABEL) == self.revision
        return newest and all(requirement.holds(labels) for requirement in self.selector)


def read_replica_owner(data: Mapping[str, Any]) -> ReplicaOwner:
    """Read a ReplicaSet or StatefulSet from a parsed manifest; raises InputError for a field of the wrong type."""
    spec, status = get_map(data, "spec", ""), get_map(data, "status", "")
    return ReplicaOwner(
        metadata=read_metadata(data, namespaced=True),
        replicas=get_count(spec, "replicas", "spec", default=1),
        selector=read_label_selector(get_map(spec, "selector", "spec"), "spec.selector"),
        revision=get_text(status, "updateRevision", "status") if data.get("kind") == "StatefulSet" else None,
    )
