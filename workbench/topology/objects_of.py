"""Convert a topology and the nodes of a snapshot back to HyperNode and Node objects."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.kernels.rows import unique_rows
from workbench.model.resources import PODS, UNLIMITED
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.objects.hypernode import HyperNode, make_hypernode
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node

__all__ = ["hypernodes_in", "nodes_in"]


def hypernodes_in(topology: Topology, names: Sequence[str] | None = None) -> list[HyperNode]:
    """The HyperNodes of a topology, with exact members: child HyperNodes, then the nodes that no child holds.

    `names`: other names for the HyperNodes, by index. The result is by index of the HyperNode in the topology; members
    in byte order.
    """
    called = topology.domain_names if names is None else names
    return [
        make_hypernode(
            called[j],
            int(topology.tier[j]),
            nodes=[topology.node_names[i] for i in topology.direct_nodes_of(j)],
            children=[called[c] for c in topology.children[j]],
            tier_name=topology.tier_names[j],
        )
        for j in range(topology.n_domains)
    ]


def nodes_in(snapshot: ClusterSnapshot) -> list[Node]:
    """The nodes of a snapshot as Node objects, in its order.

    Zero amounts and an unlimited number of pods are left out. Nodes that offer the same share one mapping.
    """
    nodes = []
    labels, codes = snapshot.labels.rows(), snapshot.taints.codes.tolist()
    unschedulable, not_ready = snapshot.unschedulable.tolist(), snapshot.not_ready.tolist()
    # Most nodes of a cluster offer the same.
    rows, row_of = unique_rows(snapshot.allocatable)
    offers = [_offered(snapshot.resources, row) for row in rows.tolist()]
    for i, (name, offer) in enumerate(zip(snapshot.topology.node_names, row_of.tolist(), strict=True)):
        nodes.append(
            Node(
                Metadata(name, labels=labels[i]),
                offers[offer],
                snapshot.taints.sets[codes[i]],
                unschedulable[i],
                internal_ip=snapshot.address_of(i),
                not_ready=not_ready[i],
            )
        )
    return nodes


def _offered(resources: Sequence[str], row: Sequence[int]) -> dict[str, int]:
    amounts = zip(resources, row, strict=True)
    return {resource: n for resource, n in amounts if n and not (resource == PODS and n == UNLIMITED)}
