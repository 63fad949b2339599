"""HyperNode manifests: members by exact names, alone or with the Nodes, or by patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from workbench.formats.fabric.base import FabricFormat, Written
from workbench.formats.fabric.patterns import exact_patterns
from workbench.formats.fabric.writing import listed, losses_beside, node_manifests, shape_of
from workbench.formats.write_manifests import to_yaml
from workbench.model.counted import counted
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.hypernode import HyperNode, Member
from workbench.objects.hypernode_manifest import hypernode_manifest
from workbench.objects.names import LONGEST, as_subdomain, is_name
from workbench.objects.selectors import Selector
from workbench.topology.discovery.result import short_code
from workbench.topology.objects_of import hypernodes_in

__all__ = ["CLUSTER", "HYPERNODES", "HYPERNODES_REGEX", "NAME", "cluster_names", "write_open_patterns"]

#: Annotation with the name that a HyperNode has in the source, where a cluster would refuse it.
NAME = "workbench/name"

_KEEPS = frozenset({"tiers", "tier-names", "empty"})

#: What Node objects hold besides.
_OF_NODES = frozenset({"free", "resources", "labels", "taints"})


def cluster_names(names: Sequence[str]) -> list[str]:
    """The given names, each changed if necessary to a valid name of a Kubernetes object, in the same order.

    A valid name is kept. Any other name is reduced to lower-case letters, digits and dashes; if nothing is left of it,
    or the result is also that of another name, five characters of a digest of the name are added, so that the result
    does not depend on the order of the names.
    """
    # Room for a dash and the digest.
    changed = [name if is_name(name) else as_subdomain(name, LONGEST - 6) for name in names]
    claims = Counter(changed)
    return [
        new if new and (new == old or claims[new] == 1) else f"{new}-{short_code(old)}".lstrip("-")
        for old, new in zip(names, changed, strict=True)
    ]


def _by_pattern(
    hypernodes: Sequence[HyperNode], groups: Sequence[Sequence[str]], known: Sequence[str], open_ended: bool
) -> tuple[list[HyperNode], int]:
    """HyperNodes with regular expressions for the names in `groups`, and the number of nodes that these cover."""
    # One node says its name more plainly than any pattern.
    several = [group for group in groups if len(group) > 1]
    patterns = iter(exact_patterns(known, several, open_ended=open_ended))
    made, hidden = [], 0
    for hypernode, group in zip(hypernodes, groups, strict=True):
        pattern = next(patterns) if len(group) > 1 else None
        if pattern is not None:
            hidden += len(group)
            children = tuple(member for member in hypernode.members if member.type == "HyperNode")
            hypernode = replace(hypernode, members=(*children, Member("Node", Selector(pattern=pattern))))
        made.append(hypernode)
    return made, hidden


def _written(
    snapshot: ClusterSnapshot, *, by_pattern: bool = False, open_ended: bool = False, with_nodes: bool = False
) -> Written:
    topology = snapshot.topology
    shape = shape_of(topology)
    names = cluster_names(shape.names)
    hypernodes = [
        h if h.name == old else replace(h, metadata=replace(h.metadata, annotations={NAME: old}))
        for h, old in zip(hypernodes_in(topology, names), shape.names, strict=True)
    ]
    losses = losses_beside(snapshot, shape, _KEEPS | _OF_NODES if with_nodes else _KEEPS)
    renamed = [name for name, new in zip(shape.names, names, strict=True) if name != new]
    if renamed:
        losses.append(
            f"changed: {listed('HyperNode', renamed)} got names that a cluster accepts; annotation {NAME} has the old"
        )
    refused = [name for name in topology.node_names if not is_name(name)]
    if refused:
        losses.append(f"not accepted by a cluster: the names of {listed('node', refused)}")
    if by_pattern:
        hypernodes, hidden = _by_pattern(hypernodes, shape.own, topology.node_names, open_ended)
        if hidden:
            losses.append(
                f"not written: the names of {counted(hidden, 'node')}, which patterns find beside the Nodes only"
            )
        if hidden and open_ended:
            losses.append(
                "open patterns: a node that is added later (gpu-10 beside gpu-1, gpu-1-spare) may match the pattern of "
                "a HyperNode that it is not in; topology lint names such patterns"
            )
    order = sorted(range(topology.n_domains), key=lambda j: (int(topology.tier[j]), j))
    manifests = [hypernode_manifest(hypernodes[j]) for j in order]
    nodes = node_manifests(snapshot, {}) if with_nodes else []
    return Written(to_yaml([*manifests, *nodes]), tuple(losses))


def _write(snapshot: ClusterSnapshot) -> Written:
    return _written(snapshot)


def _write_cluster(snapshot: ClusterSnapshot) -> Written:
    return _written(snapshot, with_nodes=True)


def _write_patterns(snapshot: ClusterSnapshot) -> Written:
    return _written(snapshot, by_pattern=True)


def write_open_patterns(snapshot: ClusterSnapshot) -> Written:
    """Write HyperNodes like the format ``hypernodes-regex``, but with the shortest patterns, whether open or not.

    The losses warn of nodes that are added later, which open patterns may match.
    """
    return _written(snapshot, by_pattern=True, open_ended=True)


HYPERNODES = FabricFormat("hypernodes", "Volcano HyperNodes with exact members", write=_write)
CLUSTER = FabricFormat("cluster", "Volcano HyperNodes with exact members, and the Nodes", write=_write_cluster)
HYPERNODES_REGEX = FabricFormat(
    "hypernodes-regex", "Volcano HyperNodes with patterns for the nodes' whole names", write=_write_patterns
)
