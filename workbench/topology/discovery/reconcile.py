"""`reconcile`: which HyperNodes Volcano's controller creates, updates and deletes after a round of discovery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.model.labels import SOURCE_LABEL
from workbench.objects.hypernode import HyperNode
from workbench.objects.hypernode_manifest import hypernode_manifest, hypernode_spec
from workbench.topology.discovery.result import DiscoveryResult

__all__ = ["Conflict", "ReconcilePlan", "reconcile"]


@dataclass(frozen=True)
class Conflict:
    """A discovered name that belongs to a HyperNode of another owner.

    `owner` is that owner's discovery source; empty if the HyperNode was made by hand.
    """

    name: str
    owner: str


@dataclass(frozen=True)
class ReconcilePlan:
    """The changes to make to a cluster's HyperNodes after a round of discovery.

    Lists are in the order of the discovery result, except `delete`, which is sorted by name.

    Attributes
    ----------
    update : tuple of HyperNode
        HyperNodes as discovered; further labels and annotations of the existing object stay.
    unchanged : tuple of str
        Names of owned HyperNodes that are discovered and already equal.
    delete : tuple of str
        Names of owned HyperNodes that are not discovered.
    conflicts : tuple of Conflict
        Discovered names of HyperNodes of another owner, which stay unchanged; upstream's create fails and is logged.
    empties : bool
        The source found nothing at all, so every HyperNode that it owns would be deleted: ask before doing that.
    """

    source: str
    create: tuple[HyperNode, ...]
    update: tuple[HyperNode, ...]
    unchanged: tuple[str, ...]
    delete: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    empties: bool

    @property
    def summary(self) -> str:
        """One line of text: the source, and how many HyperNodes are created, updated, deleted, unchanged or in
        conflict.
        """
        counts = (
            (len(self.create), "to create"),
            (len(self.update), "to update"),
            (len(self.delete), "to delete"),
            (len(self.unchanged), "unchanged"),
            (len(self.conflicts), "in conflict"),
        )
        return f"{self.source}: " + (", ".join(f"{n} {what}" for n, what in counts if n) or "no HyperNodes")

    def apply(self, manifests: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The HyperNode manifests as they are after carrying out the plan.

        `manifests`: existing manifests by name.

        Returns list of dict: existing manifests in their order, then new ones. An updated manifest keeps the rest of
        its metadata besides the merged labels and annotations; its status, which upstream resets, is dropped.
        """
        updates = {hypernode.name: hypernode for hypernode in self.update}
        gone = set(self.delete)
        after = [
            _updated(data, updates[name]) if name in updates else dict(data)
            for name, data in manifests.items()
            if name not in gone
        ]
        return after + [hypernode_manifest(hypernode) for hypernode in self.create]


def reconcile(result: DiscoveryResult, existing: Iterable[HyperNode]) -> ReconcilePlan:
    """Compare the result of a discovery source with the HyperNodes that exist in the cluster.

    Source: docs/reference/volcano-topology.md, section 9. The label ``volcano.sh/network-topology-source`` says who
    owns a HyperNode. Upstream deletes everything on an empty result without asking, and writes an update even where
    nothing differs; here such an update is `unchanged`. The order of members means nothing and is not compared.
    """
    source = result.source
    others: dict[str, str] = {}
    owned: dict[str, HyperNode] = {}
    for hypernode in existing:
        owner = hypernode.metadata.labels.get(SOURCE_LABEL)
        if owner == source:
            owned[hypernode.name] = hypernode
        else:
            others[hypernode.name] = owner or ""
    if result.hypernodes is None:
        return ReconcilePlan(source, (), (), tuple(owned), (), (), False)
    # If two HyperNodes have one name, the last counts, as upstream.
    found = {hypernode.name: hypernode for hypernode in result.hypernodes}
    create = tuple(h for name, h in found.items() if name not in owned and name not in others)
    update = tuple(h for name, h in found.items() if name in owned and not _same(owned[name], h, source))
    changed = {h.name for h in update}
    delete = tuple(sorted(owned.keys() - found.keys(), key=str.encode))
    return ReconcilePlan(
        source=source,
        create=tuple(_labelled(h, source) for h in create),
        update=tuple(_labelled(h, source) for h in update),
        unchanged=tuple(name for name in found if name in owned and name not in changed),
        delete=delete,
        conflicts=tuple(Conflict(name, others[name]) for name in found if name in others),
        empties=not found and bool(delete),
    )


def _labelled(hypernode: HyperNode, source: str) -> HyperNode:
    labels = {**hypernode.metadata.labels, SOURCE_LABEL: source}
    return replace(hypernode, metadata=replace(hypernode.metadata, labels=labels))


def _same(old: HyperNode, new: HyperNode, source: str) -> bool:
    """Whether updating the HyperNode `old` to `new`, as discovered by `source`, would change nothing."""
    return (
        (old.tier, old.tier_name, Counter(old.members)) == (new.tier, new.tier_name, Counter(new.members))
        and {**new.metadata.labels, SOURCE_LABEL: source}.items() <= old.metadata.labels.items()
        and new.metadata.annotations.items() <= old.metadata.annotations.items()
    )


def _updated(data: Mapping[str, Any], new: HyperNode) -> dict[str, Any]:
    metadata = dict(data["metadata"])
    for key, pairs in (("labels", new.metadata.labels), ("annotations", new.metadata.annotations)):
        if pairs:
            metadata[key] = {**(metadata.get(key) or {}), **pairs}
    kept = {key: value for key, value in data.items() if key != "status"}
    return {**kept, "metadata": metadata, "spec": hypernode_spec(new)}
